"""How a submission becomes a verdict: the queue, its ledger and its doors."""

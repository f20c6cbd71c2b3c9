"""`manage.py audit`: what it looks at, what it says, what it leaves behind, and its exit codes."""

import io
import json
from uuid import uuid4

from django.core.management import call_command

from contests.models import Activity, Assignment, Organization, Round
from judging import queue
from judging.audit import audit, last_audit, newest_mark, results_are_proved
from judging.audit.snapshot import Scope
from judging.models import Audit, AuditScope, Job, Lane, LedgerRecord
from judging.replay.__main__ import main as replay_file
from tests.ledger.conftest import altered, damage, equal, records, rewrite
from tests.queue.conftest import OPERATOR, claimed, report


def run(*arguments: str) -> tuple[int, str]:
    """The command's exit code and what it wrote."""
    out = io.StringIO()
    try:
        call_command("audit", *arguments, stdout=out, stderr=out)
    except SystemExit as end:
        return int(end.code or 0), out.getvalue()
    return 0, out.getvalue()


def answer(*arguments: str) -> dict:
    code, text = run("--json", *arguments)
    document = json.loads(text)
    assert document["exit"] == code
    return document


def test_exit_0_when_all_is_equal(past):
    code, said = run()

    assert code == 0
    assert said.startswith(f"equal: {LedgerRecord.objects.count()} records of 4 threads explain the tables")


def test_exit_1_names_the_first_divergence(past):
    with altered("judging_job", "fence", "fence + 1", "id = %s", past.judged.id):
        code, said = run()

    assert code == 1
    assert f"thread {past.judged.thread_id}, record {past.judged.n}: table: " in said
    assert f"(job {past.judged.id}); job.fence: logged 2, found 3" in said


def test_exit_2_when_it_could_not_run(past, tmp_path):
    (tmp_path / "broken").write_text("not an anchor")

    assert run("--anchor", str(tmp_path / "broken"))[0] == 2
    assert run("--anchor", str(tmp_path / "missing"))[0] == 2
    assert run("--export", str(tmp_path / "no" / "such" / "folder"))[0] == 2
    assert run("--explain", str(uuid4()))[0] == 2
    assert run("--activity", "nowhere")[0] == 2
    assert run("--since-mark", "--thread", str(uuid4()))[0] == 2
    assert answer("--activity", "nowhere")["result"] == "could not run"
    assert last_audit() is None


def test_exit_3_when_records_of_an_unknown_kind_were_skipped(past):
    thread = past.waiting.thread_id
    rewrite(thread, lambda record: record._replace(v=2))
    code, said = run()

    assert (code, "3 of an unknown kind were skipped" in said) == (3, True)


def test_programs_are_told_everything_as_json(past):
    with altered("judging_job", "reason", "'\x1b[2J'", "id = %s", past.judged.id):
        said = answer()

    assert (said["result"], said["diverged"], said["threads"]) == ("diverged", 1, 4)
    assert said["divergences"] == [
        {
            "kind": "table",
            "words": "a column is not what the ledger says",
            "thread": str(past.judged.thread_id),
            "n": past.judged.n,
            "job": str(past.judged.id),
            "column": "job.reason",
            "logged": None,
            "found": "\x1b[2J",
        }
    ]


def test_a_thread_or_a_lane_is_audited_alone(past, hall):
    hall.submit(lane=hall.other_lane())
    damage("UPDATE judging_job SET fence = 9 WHERE id = %s", past.judged.id)

    assert answer("--thread", str(past.failed.thread_id))["threads"] == 1
    assert answer("--thread", str(past.judged.thread_id))["result"] == "diverged"
    assert answer("--lane", str(Lane.objects.exclude(id=hall.lane).get().id))["result"] == "equal"
    assert answer("--lane", str(hall.lane))["threads"] == 4


def test_an_activity_is_its_lanes(past, hall):
    organization = Organization.objects.create(slug="o", name="O")
    activity = Activity.objects.create(organization=organization, slug="finals", title="Finals")
    round_ = Round.objects.create(activity=activity, position=1, title="Day 1")
    lane = Lane.objects.get(id=hall.lane)
    Assignment.objects.create(round=round_, position=1, slug="A", problem=lane.problem, lane=lane)
    hall.submit(lane=hall.other_lane())

    assert answer("--activity", "finals")["threads"] == 4
    assert Audit.objects.latest("id").lanes == [hall.lane]


def test_since_the_mark_only_threads_with_news_are_audited(past, hall, box_1):
    assert answer("--since-mark")["threads"] == 4
    assert answer("--since-mark")["threads"] == 0
    hall.submit()
    assert answer("--since-mark")["threads"] == 1
    report(claimed(box_1))
    assert answer("--since-mark")["threads"] == 1
    assert answer()["threads"] == 5


def test_after_a_divergence_there_is_no_mark_to_go_on_from(past):
    equal()
    with altered("judging_job", "fence", "9", "id = %s", past.judged.id):
        audit()

    assert newest_mark() is None
    assert answer("--since-mark")["threads"] == 4


# Anchors.


def test_an_anchor_finds_a_consistent_rewrite(past, tmp_path):
    anchor = str(tmp_path / "anchor")
    code, said = run("--write-anchor", anchor)
    assert (code, "over 4 threads" in said) == (0, True)
    assert "4 anchors met" in run("--anchor", anchor)[1]
    # Who submitted is in no table: nothing but an anchor can know.
    thread = past.judged.thread_id
    rewrite(thread, lambda record: record._replace(actor="user:2") if record.n == 1 else record)

    assert run()[0] == 0
    code, said = run("--anchor", anchor)

    last = records(thread)[-1]
    assert (code, f"thread {thread}, record {last.n}: chain: the record is not the one that an anchor kept" in said) == (1, True)


def test_an_anchor_finds_what_was_cut_off_consistently(past, tmp_path):
    anchor = str(tmp_path / "anchor")
    run("--write-anchor", anchor)
    thread = past.waiting.thread_id
    for table in ("judging_job WHERE thread_id", "judging_ledgerrecord WHERE thread", "judging_thread WHERE id"):
        damage(f"DELETE FROM {table} = %s", thread)

    assert run()[0] == 0
    code, said = run("--anchor", anchor)

    assert (code, f"thread {thread}, record 3: gap" in said) == (1, True)


def test_what_is_written_after_an_anchor_is_no_contradiction(past, hall, box_1, tmp_path):
    run("--write-anchor", str(tmp_path / "anchor"))
    hall.submit()
    report(claimed(box_1))

    assert run("--anchor", str(tmp_path / "anchor"))[0] == 0


def test_a_ledger_that_diverges_is_given_no_anchor(past, tmp_path):
    with altered("judging_job", "fence", "9", "id = %s", past.judged.id):
        code, said = run("--write-anchor", str(tmp_path / "anchor"))

    assert (code, "no anchor was written" in said) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_an_anchor_that_was_changed_is_not_believed(past, tmp_path):
    anchor = tmp_path / "anchor"
    run("--write-anchor", str(anchor))
    anchor.write_text(anchor.read_text().replace('"n":3', '"n":2'))

    assert run("--anchor", str(anchor))[0] == 2


# Exports.


def test_what_is_exported_replays_elsewhere_to_the_same(past, tmp_path, capsys):
    run("--export", str(tmp_path / "ledger"), "--write-anchor", str(tmp_path / "anchor"))

    assert replay_file([str(tmp_path / "ledger"), "--anchor", str(tmp_path / "anchor")]) == 0
    assert capsys.readouterr().out == f"equal: {LedgerRecord.objects.count()} records of 4 threads, 4 anchors met\n"


def test_a_damaged_ledger_is_exported_whole_and_diverges_elsewhere_at_the_same_record(past, tmp_path, capsys):
    damage("UPDATE judging_ledgerrecord SET actor = 'x' WHERE thread = %s AND n = 2", past.judged.thread_id)
    code, said = run("--export", str(tmp_path / "ledger"))

    assert (code, replay_file([str(tmp_path / "ledger")])) == (1, 1)
    assert len((tmp_path / "ledger").read_text().splitlines()) == LedgerRecord.objects.count() + 2
    assert capsys.readouterr().out.removeprefix("diverged: ").strip() in said


# Stories.


def test_the_story_of_a_job_says_who_held_it_and_what_became_of_it(past):
    code, said = run("--explain", str(past.judged.id))

    assert code == 0
    assert [line for line in said.splitlines() if line.startswith("job")] == [f"job {past.judged.id}"]
    for words in ("user:1: Submitted.", "gave it back", "Until 2", "Reported: Accepted.", "equal, "):
        assert words in said


def test_a_submission_or_a_thread_tells_of_all_its_jobs(past):
    for asked in (past.waiting.submission_id, past.waiting.thread_id):
        code, said = run("--explain", str(asked))
        assert (code, said.count("\njob ") + said.startswith("job ")) == (0, 2)


def test_a_story_of_damaged_records_says_so(past):
    with altered("judging_job", "fence", "9", "id = %s", past.judged.id):
        assert "diverged: " in run("--explain", str(past.judged.id))[1]


def test_a_story_cannot_move_the_terminals_cursor(hall, box_1):
    hall.submit()
    queue.cancel(Job.objects.get().id, by=OPERATOR, reason="\x1b[2J\u202e")

    _, said = run("--explain", str(Job.objects.get().id))

    assert "\\x1b[2J\\u202e" in said
    assert not {"\x1b", "\u202e"} & set(said)


# What audits have shown.


def test_the_last_audit_is_remembered_with_its_time_and_result(past):
    assert last_audit() is None
    equal()
    with altered("judging_job", "fence", "9", "id = %s", past.judged.id):
        outcome = audit(Scope(AuditScope.LANES, lanes=(past.judged.lane_id,)))

    row = last_audit()
    assert row is not None
    assert (row.result, row.scope, row.lanes, row.diverged) == (1, "lanes", [past.judged.lane_id], 1)
    assert (row.at, row.words) == (outcome.moment.at, outcome.words)
    assert Audit.objects.count() == 2


def test_results_are_proved_by_an_audit_that_saw_the_last_judgement(past, hall, box_1):
    lanes = [hall.lane]
    assert not results_are_proved(lanes)
    equal()
    assert results_are_proved(lanes)
    held = claimed(box_1)
    assert results_are_proved(lanes), "a hand-out is no judgement"
    report(held)
    assert not results_are_proved(lanes)
    equal(Scope(AuditScope.LANES, lanes=(hall.lane,)))
    assert results_are_proved(lanes)
    queue.void(held.row.id, by=OPERATOR, reason="because")
    assert not results_are_proved(lanes)


def test_an_audit_of_less_proves_nothing_more(past, hall):
    other = hall.other_lane()
    equal(Scope(AuditScope.LANES, lanes=(other,)))
    equal(Scope(AuditScope.THREADS, threads=(past.judged.thread_id,)))
    audit(Scope(AuditScope.RECENT))

    assert results_are_proved([other])
    assert not results_are_proved([hall.lane])
    assert not results_are_proved([hall.lane, other])


def test_a_divergence_anywhere_unproves_until_an_audit_is_equal_again(past, hall):
    equal()
    with altered("judging_job", "fence", "9", "id = %s", past.judged.id):
        audit(Scope(AuditScope.THREADS, threads=(past.judged.thread_id,)))
    assert not results_are_proved([hall.lane])
    equal()
    assert results_are_proved([hall.lane])


def test_an_audit_of_another_server_proves_nothing_here(past, hall):
    equal()
    damage("UPDATE judging_audit SET server = 'another/1'")

    assert not results_are_proved([hall.lane])

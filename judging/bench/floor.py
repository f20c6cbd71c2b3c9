"""The floor of a claim: a table, one partial index, and a bare SKIP LOCKED pick with the update of the picked row."""

TABLE = """
CREATE TABLE bench_floor (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, taken boolean NOT NULL DEFAULT false, at timestamptz DEFAULT clock_timestamp(),
    said text
);
CREATE INDEX bench_floor_order ON bench_floor (at) WHERE NOT taken;
"""
FILL = """
INSERT INTO bench_floor (at, said)
SELECT now() + g * interval '1 microsecond', repeat('x', 200) FROM generate_series(1, %s) g
"""
FLOOR = """
WITH picked AS (SELECT id FROM bench_floor WHERE NOT taken ORDER BY at LIMIT 1 FOR UPDATE SKIP LOCKED)
UPDATE bench_floor f SET taken = true FROM picked WHERE f.id = picked.id RETURNING f.id
"""
ENQUEUE = """
INSERT INTO bench_floor (said) VALUES ('one more') RETURNING id
"""

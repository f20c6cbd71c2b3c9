"""Problems and their packages: nothing is half imported, and every fault is told at once."""

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from judging.models import Problem, ProblemVersion, StoredFile
from judging.packages import faults, is_archive
from tests import factories
from tests.admin.reading import told, words

pytestmark = pytest.mark.django_db


def zipped(**files):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/"), content)
    return raw.getvalue()


SUM = zipped(
    **{
        "config.yml": "limits: {timeMs: 1000, memoryBytes: 67108864}\ngroups: [{group: 1, points: 1}]\n",
        "tests__1a.in": "1 2\n",
        "tests__1a.out": "3\n",
    }
)
ICPC = {
    "problem.yaml": "name: Sum\n",
    "problem_statement__problem.tex": "Add.\n",
    "data__secret__1.in": "1 2\n",
    "data__secret__1.ans": "3\n",
    "input_validators__v.py": "exit(42)\n",
    "submissions__accepted__a.py": "print(3)\n",
}


def publish(client, problem, content, **said):
    package = SimpleUploadedFile("package.zip", content)
    return client.post(f"/admin/judging/problem/{problem.id}/publish/", {"reason": "new tests", "package": package} | said)


def found(content):
    return [(fault.file, fault.line) for fault in faults(io.BytesIO(content))]


def test_a_package_becomes_the_problem_s_next_version(client):
    work = factories.work()

    publish(client, work.problem, SUM, props='{ "a": 1 }')

    version = ProblemVersion.objects.get(problem=work.problem, number=2)
    assert version.package is not None
    assert version.props == '{"a":1}'
    assert told(client) == [f"{work.problem.slug} has version 2 now."]


def test_every_fault_is_told_with_file_and_line_and_nothing_is_kept(client):
    problem = factories.work().problem
    content = zipped(**{"config.yml": "a: 1\nb: [", "tests__limits.json": '{\n "a": 1,\n}', "fine.json": "{}"})

    answer = words(publish(client, problem, content))

    assert "config.yml:2: It is not YAML" in answer
    assert "tests/limits.json:3: It is not JSON" in answer
    assert "fine.json" not in answer
    assert ProblemVersion.objects.filter(problem=problem).count() == 1
    assert StoredFile.objects.count() == 0


@pytest.mark.parametrize(
    ("problem_type", "files", "said"),
    [
        (
            "standard-io@1",
            {"config.yml": "groups: []\n", "tests__x": ""},
            ["'limits' is missing", "tests/x: not a test", "tests: there are none"],
        ),
        (
            "icpc@1",
            ICPC | {"problem.yaml": "validation: costum\n", "data__secret__2.in": ""},
            ["'costum'", "data/secret/2.in: has no .ans"],
        ),
        ("output-only@1", {"config.yml": "groups: []\n"}, ["tests: there are none"]),
    ],
)
def test_a_package_is_read_as_its_runner_will_read_it_and_all_faults_are_told(client, problem_type, files, said):
    problem = factories.work(problem_type=problem_type).problem

    answer = words(publish(client, problem, zipped(**files)))

    assert [one for one in said if one not in answer] == []
    assert ProblemVersion.objects.filter(problem=problem).count() == 1


def test_what_is_odd_about_a_package_is_told_when_it_was_kept(client):
    problem = factories.work(problem_type="icpc@1").problem

    publish(client, problem, zipped(**ICPC))

    noted, done = told(client)
    assert "no time limit" in noted
    assert done == f"{problem.slug} has version 2 now."


def test_a_package_of_a_type_nobody_here_judges_is_looked_over_as_an_archive_only(client):
    problem = factories.work(problem_type="essay@7").problem

    publish(client, problem, zipped(anything="x"))

    assert ProblemVersion.objects.filter(problem=problem).count() == 2


def test_a_package_with_faults_is_kept_when_somebody_insists(client):
    problem = factories.work().problem

    publish(client, problem, b"not a zip at all", anyway="on")

    assert ProblemVersion.objects.filter(problem=problem).count() == 2


def test_properties_are_an_object(client):
    problem = factories.work().problem

    assert "opaque.notAnObject" in words(publish(client, problem, zipped(a="x"), props="[]"))


def test_only_whoever_may_publishes(staff):
    problem = factories.work().problem

    assert publish(staff("judging.view_problem"), problem, zipped(a="x")).status_code == 403


def test_the_form_of_a_problem_says_what_its_words_mean(client):
    page = words(client.get("/admin/judging/problem/add/"))

    assert "How long all of a run may take" in page
    assert "standard-io@1, icpc@1 and output-only@1" in page


def test_a_new_problem_is_made_and_its_type_stays(client):
    bounds = {"max_deliveries": 3, "timeout_seconds": 60, "adapter": "exit-code"}
    said = {"slug": "sum", "title": "Sum", "problem_type": "standard-io@1", **bounds}
    client.post("/admin/judging/problem/add/", said)
    problem = Problem.objects.get(slug="sum")

    client.post(reverse("admin:judging_problem_change", args=[problem.id]), {"title": "Add", "problem_type": "x@1", **bounds})

    problem.refresh_from_db()
    assert (problem.title, problem.problem_type, problem.max_deliveries) == ("Add", "standard-io@1", 3)
    assert (problem.timeout_seconds, problem.adapter) == (60, "exit-code")


def test_a_whole_package_has_no_fault():
    assert found(zipped(**{"config.yml": "a: &x 1\nb: *x\n", "tests__1.in": "1"})) == []


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "a/../../b", "..\\evil", "C:\\evil"])
def test_a_path_that_leads_out_is_a_fault(name):
    assert (name, 0) in found(zipped(**{name: "x"}))


def test_names_that_differ_in_case_only_are_a_fault():
    assert found(zipped(**{"A.in": "1", "a.in": "2"})) == [("a.in", 0)]


def test_an_empty_package_is_a_fault():
    assert found(zipped()) == [("", 0)]


def test_a_damaged_member_is_a_fault():
    content = bytearray(zipped(**{"tests__1.in": "0123456789" * 10}))
    place = content.index(b"0123456789")
    content[place] ^= 0xFF

    assert found(bytes(content)) == [("tests/1.in", 0)]


def test_a_bomb_is_not_unpacked():
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"\0" * 1000)
        archive.infolist()[0].file_size = 5 * 1024**3
    content = raw.getvalue()

    assert any("bytes" in fault.words for fault in faults(io.BytesIO(content)))


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x05\x06", b"\x00" * 100, zipped(a="x")[:-10]])
def test_bytes_that_are_no_archive_never_raise(content):
    stream = io.BytesIO(content)

    if is_archive(stream):
        assert faults(stream) != []

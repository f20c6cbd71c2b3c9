"""Finding and using control groups, v2 on a recorded tree (runner-agent §3.4)."""

import os

import pytest

from runners.agent.box.cgroup import mounted
from runners.agent.box.cgroup1 import Hierarchy1
from runners.agent.box.cgroup2 import Group2, Hierarchy2
from runners.agent.box.hierarchy import find_hierarchy
from runners.agent.errors import Unavailable

V1 = """30 23 0:26 / {top} ro shared:9 - tmpfs tmpfs ro
31 30 0:27 / {top}/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / {top}/memory rw shared:11 - cgroup cgroup rw,memory
33 30 0:29 / {top}/pids rw shared:12 - cgroup cgroup rw,pids
34 30 0:30 / {top}/unified rw shared:13 - cgroup2 cgroup2 rw
"""
V2 = "30 23 0:26 / {top} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"


@pytest.fixture
def v2(tmp_path):
    """A v2 tree as Linux 6.1 shows it, its group for the agent delegated by systemd."""
    own = tmp_path / "system.slice" / "assize.service"
    own.mkdir(parents=True)
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids rdma misc\n")
    for folder in (tmp_path, own.parent):
        (folder / "cgroup.subtree_control").write_text("cpu memory pids\n")
    (own / "cgroup.subtree_control").write_text("cpu memory pids\n")
    (own / "cgroup.procs").write_text("")
    return tmp_path


def test_mounts_are_read_with_both_controllers_of_one_mount(tmp_path):
    found = mounted(V1.format(top="/sys/fs/cgroup"))

    assert str(found.unified) == "/sys/fs/cgroup/unified"
    assert {name: str(path) for name, path in found.controllers.items()} == {
        "cpuacct": "/sys/fs/cgroup/cpu,cpuacct",
        "memory": "/sys/fs/cgroup/memory",
        "pids": "/sys/fs/cgroup/pids",
    }


def test_v1_is_used_when_the_unified_mount_has_no_controllers(tmp_path):
    (tmp_path / "unified").mkdir()
    (tmp_path / "unified" / "cgroup.controllers").write_text("\n")

    assert find_hierarchy(mountinfo=V1.format(top=tmp_path)).version == 1


@pytest.mark.parametrize(("said", "place"), [("/", ""), ("/judges/", "judges"), ("judges", "judges"), (None, "assize")])
def test_on_v1_a_group_is_named_below_what_is_mounted_however_it_is_written(tmp_path, said, place):
    hierarchy = find_hierarchy(said, mountinfo="\n".join(V1.format(top=tmp_path).splitlines()[:4]))

    assert isinstance(hierarchy, Hierarchy1)
    assert hierarchy.parents()["memory"] == tmp_path / "memory" / place


def test_v2_is_used_where_it_has_the_controllers(v2, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    hierarchy = find_hierarchy(mountinfo=V2.format(top=v2), own="/system.slice/assize.service/agent")

    assert isinstance(hierarchy, Hierarchy2)
    assert hierarchy.parent == v2 / "system.slice" / "assize.service"


def test_root_works_below_a_group_of_its_own_at_the_top(v2, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert find_hierarchy(mountinfo=V2.format(top=v2), own="/user.slice") == Hierarchy2(v2 / "assize")


def test_without_any_control_group_nothing_is_judged():
    with pytest.raises(Unavailable, match="no control groups"):
        find_hierarchy(mountinfo="22 1 0:20 / / rw - ext4 /dev/sda rw\n")


def test_a_v1_tree_without_a_controller_is_refused_naming_it(tmp_path):
    with pytest.raises(Unavailable, match="pids"):
        Hierarchy1({"memory": tmp_path, "cpuacct": tmp_path}).prepare()


def test_a_v2_group_is_limited_in_every_way(v2):
    hierarchy = Hierarchy2(v2 / "system.slice" / "assize.service")
    hierarchy.prepare()
    group = hierarchy.create("a1.1", memory_bytes=1_000_000, processes=7)

    assert (group.folder / "memory.max").read_text() == "1000000"
    assert (group.folder / "memory.oom.group").read_text() == "1"
    assert (group.folder / "pids.max").read_text() == "7"
    group.add(42)
    assert group.pids() == [42]


def test_v2_counters_are_read_as_the_kernel_writes_them(tmp_path):
    group = Group2(tmp_path)
    (tmp_path / "cpu.stat").write_text("usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\nnr_periods 0\n")
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n")
    (tmp_path / "memory.peak").write_text("5242880\n")

    assert group.cpu_ns() == 1_234_567_000
    assert group.oom_kills() == 2
    assert group.peak_bytes() == 5242880


def test_before_linux_5_19_there_is_no_peak(tmp_path):
    assert Group2(tmp_path).peak_bytes() is None


def test_a_v2_group_is_killed_by_its_switch(tmp_path):
    (tmp_path / "cgroup.kill").write_text("")
    Group2(tmp_path).kill()
    assert (tmp_path / "cgroup.kill").read_text() == "1"


def test_the_agent_steps_into_a_leaf_of_its_delegated_group(v2):
    own = v2 / "system.slice" / "assize.service"
    (own / "cgroup.procs").write_text(f"{os.getpid()}\n")
    Hierarchy2(own).prepare()

    assert (own / "agent" / "cgroup.procs").read_text() == str(os.getpid())


def test_at_the_top_of_what_a_container_sees_there_is_nothing_above_to_hand_down(v2):
    (v2 / "cgroup.procs").write_text(f"{os.getpid()}\n")
    hierarchy = find_hierarchy("/", mountinfo=V2.format(top=v2))
    hierarchy.prepare()

    assert hierarchy == Hierarchy2(v2)
    assert (v2 / "agent" / "cgroup.procs").read_text() == str(os.getpid())
    assert not (v2.parent / "cgroup.subtree_control").exists()


def test_a_group_that_was_not_given_the_controllers_is_refused(v2):
    own = v2 / "system.slice" / "assize.service"
    (own / "cgroup.subtree_control").write_text("pids\n")

    # The kernel refuses the write or ignores it; the recorded file keeps what was written, which are no names.
    with pytest.raises(Unavailable, match="not given the controllers"):
        Hierarchy2(own).prepare()


def test_leftovers_are_found_by_their_prefix_only(v2):
    own = v2 / "system.slice" / "assize.service"
    for name in ("a1.0", "a1.1", "a11.0", "b.0"):
        (own / name).mkdir()

    assert Hierarchy2(own).leftovers("a1.") == [Group2(own / "a1.0"), Group2(own / "a1.1")]

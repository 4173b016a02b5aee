"""A server and three clients as processes of Flower on loopback make the rounds of a simulation."""

from __future__ import annotations

import math
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import discreet as dp
from discreet.deep import FederatedAveraging, FederatedSGD, PrivateClients, PrivateSites
from discreet.events import Poisson, Repeat

APP = Path(__file__).parent / "app"
BIN = Path(sys.executable).parent
sys.path.insert(0, str(APP))
from flower_app import task  # noqa: E402


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError("a process of Flower ended before it began.")
        with socket.socket() as found:
            if found.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("a process of Flower doesn't answer.")


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    """A SuperLink and three SuperNodes; their logs stay in the folder."""
    folder = tmp_path_factory.mktemp("flower")
    port = free_port()
    (folder / "config.toml").write_text(
        f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    )
    path = f"{BIN}:{os.environ['PATH']}"
    env = {**os.environ, "FLWR_HOME": str(folder), "PATH": path, "FLWR_TELEMETRY_ENABLED": "0"}
    started: list[subprocess.Popen[bytes]] = []

    def begin(name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with open(folder / f"{name}.log", "wb") as log:
            command = [str(BIN / arguments[0]), *arguments[1:]]
            process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        started.append(process)
        return process

    try:
        link = begin(
            "link", "flower-superlink", "--insecure", "--port", str(port),
            "--disable-runtime-dependency-installation",
        )  # fmt: skip
        wait_until_open(port, link)
        for part in range(task.NODES):
            begin(
                f"node{part}", "flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{port}",
                "--port", str(free_port()), "--node-config", f"part={part}",
            )  # fmt: skip
        yield folder, env
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def run(deployment, mode: str) -> dict[str, torch.Tensor]:
    """One run of the app, to its end; the weights that the server wrote."""
    folder, env = deployment
    config = f'mode="{mode}" folder="{folder}"'
    command = [str(BIN / "flwr"), "run", str(APP), "here", "--run-config", config]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    for _ in range(3000):
        if (folder / f"{mode}.pt").exists():
            time.sleep(0.5)
            return torch.load(folder / f"{mode}.pt", weights_only=True)
        time.sleep(0.2)
    raise TimeoutError((folder / "link.log").read_text()[-4000:])


def test_clients_on_a_network_give_the_weights_of_the_simulation(deployment):
    found = run(deployment, "public")
    model = task.network()
    clients = PrivateClients(
        [task.table(part) for part in range(task.NODES)], unit=dp.PUBLIC, public_clients=task.NODES
    )
    settings = {"epsilon": math.inf, "delta": 1e-5, **task.SETTINGS}
    FederatedAveraging(model, task.descend, **settings).fit(clients)
    for name, value in model.state_dict().items():
        assert torch.equal(found[name], value)


def test_sites_on_a_network_give_the_weights_of_the_simulation(deployment):
    found = run(deployment, "sites")
    model = task.network()
    held = {str(part): task.table(part) for part in range(task.NODES)}
    settings = {"epsilon": math.inf, "delta": 1e-5, **task.SETTINGS, **task.SITES}
    FederatedSGD(model, task.LOSS, task.plain(model), **settings).fit(
        PrivateSites(held, unit=dp.PUBLIC, public_size=60)
    )
    for name, value in model.state_dict().items():
        assert torch.equal(found[name], value)


def test_a_private_run_is_charged_once_claimed_by_round_and_silent_about_failures(deployment):
    folder, _ = deployment
    found = run(deployment, "private")
    assert all(torch.isfinite(value).all() for value in found.values())
    ledger = dp.Ledger(f"sqlite:///{folder / 'ledger.db'}")
    charged = [each for each in ledger.entries() if "federated training" in each.note]
    assert len(charged) == 1
    event = charged[0].event
    assert isinstance(event, Repeat)
    assert event.count == task.ROUNDS
    assert isinstance(event.event, Poisson)
    assert dp.accounting.satisfies(event, dp.ApproxDP(4, 1e-5))
    assert len([each for each in ledger.entries() if "begun" in each.note]) == task.ROUNDS
    for log in folder.glob("*.log"):  # the third client fails in each round
        assert "patient 17" not in log.read_text(errors="replace")

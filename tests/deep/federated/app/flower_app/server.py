"""The server: a federation on Flower's grid, whose weights and ledger the test reads afterwards."""

import math
from pathlib import Path

import torch
from flwr.serverapp import ServerApp

import discreet as dp
from discreet.deep import FederatedAveraging, FederatedSGD, PrivateClients, PrivateSites
from discreet.deep.federated.flower import FlowerStrategy
from flower_app.task import LOSS, NODES, SETTINGS, SITES, descend, network, plain

app = ServerApp()


@app.main()
def main(grid, context):
    mode, folder = context.run_config["mode"], Path(context.run_config["folder"])
    model = network()
    if mode == "sites":
        options = {**SITES, **SETTINGS, "epsilon": math.inf, "delta": 1e-5}
        federation = FederatedSGD(model, LOSS, plain(model), **options)
        parties = PrivateSites(None, unit=dp.PUBLIC, public_size=60)
    else:
        paid = {"unit": dp.PUBLIC}
        if mode == "private":
            unit = dp.Unit(dp.ADD_REMOVE, id_column="client", max_rows=1)
            url = f"sqlite:///{folder / 'ledger.db'}"
            paid = {"ledger": dp.Ledger(url, limit=dp.ApproxDP(4, 1e-5), unit=unit)}
        epsilon = 4 if mode == "private" else math.inf
        federation = FederatedAveraging(model, descend, epsilon=epsilon, delta=1e-5, **SETTINGS)
        parties = PrivateClients(None, public_clients=NODES, **paid)
    FlowerStrategy(federation, parties, wait_for=NODES).start(grid, timeout=600)
    torch.save(model.state_dict(), folder / f"{mode}.pt")

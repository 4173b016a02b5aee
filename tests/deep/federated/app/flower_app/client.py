"""The nodes: clients that train, or sites that add up gradients."""

from flwr.clientapp import ClientApp

from discreet.deep.federated.flower import client_app, site_app
from flower_app.task import CHANCE, LOSS, ROUNDS, SITES, descend, network, table


def load(context):
    part = int(context.node_config["part"])
    if part == 2 and context.run_config["mode"] == "private":
        raise RuntimeError("patient 17 has no label")
    return table(part)


CLIENT = client_app(network(), descend, load)
SITE = site_app(network(), LOSS, load, sampling_rate=CHANCE, rounds=ROUNDS, **SITES)


app = ClientApp()


@app.train()
def train(message, context):
    """As the run says: one program at the nodes serves both federations."""
    chosen = SITE if context.run_config["mode"] == "sites" else CLIENT
    return chosen(message, context)

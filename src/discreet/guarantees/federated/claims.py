"""Claims about learning from several parties: whole clients, persons at sites, and local reports."""

from discreet.guarantees.base import FITTED, Claim

CODE = ("discreet.deep.federated.*",)
RESTS_ON = (*FITTED, "deep", "local")

_CODE = "discreet.deep.federated."

CLAIMS = (
    Claim(
        name="federated-clients",
        statement="All weights of all rounds of FederatedAveraging are together (ε, δ)-DP for whole clients, "
        "whatever clients send, given that a client's training keeps nothing from one client to the next and "
        "that the server, which sees updates as they are, is trusted.",
        unit="add/remove of a client with all of its data",
        measure="ApproxDP",
        status="proved",
        source="McMahan, Ramage, Talwar & Zhang 2018; integer sums and their norms: this project",
        proof="federated.md",
        functions=(
            f"{_CODE}updates.clip_update",
            f"{_CODE}updates.sum_updates",
            f"{_CODE}rounds.PrivateClients",
            f"{_CODE}rounds.Parties.prepaid",
            f"{_CODE}rounds.Rounds.claim",
            f"{_CODE}rounds.Rounds.sample",
            f"{_CODE}server.Federation.finish_round",
            f"{_CODE}server.Federation.fit",
            f"{_CODE}server.Federation.resume",
            f"{_CODE}averaging.FederatedAveraging.add_up",
            f"{_CODE}averaging.train_client",
        ),
    ),
    Claim(
        name="federated-sites",
        statement="All weights of all rounds of FederatedSGD are together (ε, δ)-DP for persons, each at one "
        "site, given the premise of dp-sgd at each site (checked at its start), and that the server, which "
        "sees the sums of sites without noise, is trusted.",
        unit="add/remove of a person, who is at one site",
        measure="ApproxDP",
        status="proved",
        source="Abadi et al. 2016; integer sums and their norms: this project",
        proof="federated.md",
        functions=(
            f"{_CODE}updates.sum_contributions",
            f"{_CODE}rounds.Rounds.everyone",
            f"{_CODE}sites.PrivateSites",
            f"{_CODE}sites.Site.contribute",
            f"{_CODE}sites.FederatedSGD.plan",
            f"{_CODE}sites.FederatedSGD.add_up",
            f"{_CODE}server.Federation.finish_round",
        ),
    ),
    Claim(
        name="local-vectors",
        statement="All reports of one client by LocalGaussian are together (ε, δ)-local DP, for any two "
        "vectors of any content.",
        unit="one client's vector: any two values, whatever they hold",
        measure="ApproxDP",
        status="proved",
        source="Kasiviswanathan et al. 2011 for the definition; Balle & Wang 2018 for the noise",
        proof="federated.md",
        functions=(
            f"{_CODE}local.LocalGaussian.event",
            f"{_CODE}local.LocalGaussian.randomize",
            f"{_CODE}updates.clip_update",
        ),
    ),
)

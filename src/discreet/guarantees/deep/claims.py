"""Claims about private training of networks."""

from discreet.guarantees.base import FITTED, Claim

CODE = (
    "discreet.deep",
    "discreet.deep.attention",
    "discreet.deep.augmenting",
    "discreet.deep.blocks",
    "discreet.deep.chain",
    "discreet.deep.checkpoints",
    "discreet.deep.choice",
    "discreet.deep.clipping",
    "discreet.deep.contributions",
    "discreet.deep.dpsgd",
    "discreet.deep.draws",
    "discreet.deep.dropout",
    "discreet.deep.grid",
    "discreet.deep.kept",
    "discreet.deep.layers",
    "discreet.deep.loop",
    "discreet.deep.networks",
    "discreet.deep.plans",
    "discreet.deep.probe",
    "discreet.deep.processes",
    "discreet.deep.quiet",
    "discreet.deep.recurrent",
    "discreet.deep.sources",
    "discreet.deep.steps",
    "discreet.deep.tables",
    "discreet.deep.tape",
    "discreet.deep.tensors",
    "discreet.deep.totals",
)
RESTS_ON = (*FITTED, "one_run")

_UNIT = "add/remove, with or without persons and max_rows"

CLAIMS = (
    Claim(
        name="dp-sgd",
        statement="All weights of all steps of a PrivateTrainer with exact sums, or of a fitted "
        "MLPClassifier or MLPRegressor, are together (ε, δ)-DP, given that at a fixed shape of blocks a "
        "person's gradients depend on that person, the weights and draws of their own alone (tested at each "
        "start).",
        unit=_UNIT,
        measure="ApproxDP",
        status="proved",
        source="Abadi et al. 2016; integer sums and their norms: this project",
        proof="deep.md",
        functions=(
            "discreet.deep.grid.sum_clipped",
            "discreet.deep.grid.sum_columns",
            "discreet.deep.grid.clip_factors",
            "discreet.deep.grid.code_clipped",
            "discreet.deep.grid.CodedDense.code",
            "discreet.deep.grid.CodedOuter.code",
            "discreet.deep.grid.CodedRows.code",
            "discreet.deep.totals.IntegerTotal.add",
            "discreet.deep.totals.IntegerTotal.total",
            "discreet.deep.plans.PoissonSampler.draw",
            "discreet.deep.plans.TrainingPlan.event",
            "discreet.deep.plans.TrainingPlan.draw_noise",
            "discreet.deep.plans.calibrate_noise",
            "discreet.deep.steps.BatchSum.total",
            "discreet.deep.augmenting.augment_rows",
            "discreet.deep.draws.check_draws_apart",
            "discreet.deep.tensors.PrivateTensors.prepaid",
            "discreet.deep.tensors.TensorDoor.claim",
            "discreet.deep.tensors.TensorDoor.draw",
            "discreet.deep.tables.TableDoor.carry_out",
            "discreet.deep.dpsgd.PrivateTrainer.fit",
            "discreet.deep.dpsgd.PrivateTrainer.resume",
        ),
    ),
    Claim(
        name="dp-sgd-fast",
        statement="The same with sums in the network's float arithmetic, given that its rounding moves a sum "
        "by nothing: an approximation that is not bounded, so ledgers take it only with accept_assumed.",
        unit=_UNIT,
        measure="ApproxDP",
        status="assumed",
        source="Abadi et al. 2016; ghost norms and book-keeping after Bu, Wang, Zha & Karypis 2023",
        proof="deep.md",
        functions=(
            "discreet.deep.clipping.sum_in_floats",
            "discreet.deep.steps.BatchSum.total",
        ),
        audit="dp-sgd",
    ),
)

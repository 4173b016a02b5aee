"""What the words on the pages mean, each in a few sentences."""

from __future__ import annotations

__all__ = ["WORDS"]

#: By the name of their anchor: the word and what it means.
WORDS: dict[str, tuple[str, str]] = {
    "epsilon": (
        "ε (epsilon)",
        "How much all answers together may tell about one person. Whoever sees them can change the odds of a "
        "guess about her by a factor of at most e^ε: 1.1 for ε = 0.1, 2.7 for ε = 1, 20 for ε = 3. Smaller "
        "is more private and noisier.",
    ),
    "delta": (
        "δ (delta)",
        "A small chance that the promise of ε is not kept for a person. It buys less noise for many answers "
        "at once. Leave it empty for a promise without exception, or choose far less than one in the number "
        "of people, such as 1e-6.",
    ),
    "budget": (
        "Budget",
        "The most that all answers from a table may ever tell, as an ε. It is set once and never raised; "
        "each answer takes its part, and when nothing is left, nothing is answered any more.",
    ),
    "ledger": (
        "Ledger",
        "The book in which every charge is written before a row is read. Its entries are chained, so that a "
        "change is noticed, and it refuses what the budget doesn't cover.",
    ),
    "bounds": (
        "Bounds",
        "The least and the largest value that a column may have, from the form, the law or common sense. "
        "Values outside are moved to the nearest bound. Noise grows with their distance, so narrow ones are "
        "better. They must not be read off the rows: the largest salary in a table is somebody's salary.",
    ),
    "category": (
        "Categories",
        "The values that a column may have, such as the wards of a hospital. They are declared, not read "
        "from the rows: that a rare value occurs would tell that somebody has it.",
    ),
    "fill": (
        "Fill",
        "What a missing cell counts as. By default the middle between the bounds. It is public, so it says "
        "nothing about who had a missing cell.",
    ),
    "derived": (
        "Derived column",
        "A column computed from another one, row by row, to group by it: age bands, the month of a day.",
    ),
    "unit": (
        "Who is protected",
        "Either each row stands for one person, or a column says which rows are one person's. In the second "
        "case a limit says how many rows of each person count.",
    ),
    "max_rows": (
        "Rows that count per person",
        "With several rows per person the noise must hide all of them, so a limit keeps it small. Rows "
        "beyond the limit are left out by a rule that looks at that person's rows alone.",
    ),
    "relation": (
        "What is hidden",
        "Either that a person is in the table at all, so that the number of rows is private too; or only "
        "what her data is, when everybody knows who is in it and the number of rows is public.",
    ),
    "noise": (
        "Noise",
        "A random number that is added to an answer so that no one person's presence can be seen in it. It "
        "is drawn exactly, from the operating system, and nobody can take it away again.",
    ),
    "error": (
        "Expected error",
        "How far the noise will typically move an answer: its standard deviation. About two in three answers "
        "are closer, and 19 in 20 are within twice of it. It follows from public facts alone.",
    ),
    "how": (
        "How: kind and scale of the noise",
        "What a statistician needs to check the price. DiscreteLaplace and DiscreteGaussian are the noise of "
        "these shapes on whole numbers; the sensitivity is how far one person can move the number before "
        "noise, and the scale how far the noise does. Both are counted in the smallest steps of a column, so "
        "they can look large: their ratio is what costs ε. Compose holds several of them together.",
    ),
    "interval": (
        "Noise interval",
        "Where the answer without noise lies with the stated probability. It speaks of the noise alone, not "
        "of how well the rows stand for other people.",
    ),
    "ranks": (
        "Ranks",
        "The place of a value when all are sorted. A median's error is given in ranks: how many rows away "
        "from the middle it may be.",
    ),
    "weight": (
        "Weight",
        "How much a question matters beside the others. Questions of one release share its ε; with more "
        "weight a question gets more of it and less noise.",
    ),
    "rehearsal": (
        "Rehearsal",
        "The same release on rows that are made up from the declared facts. It costs nothing and says "
        "nothing about anybody; it shows what a result will look like.",
    ),
    "synthetic": (
        "Synthetic or masked table",
        "Made-up rows that resemble the table in what was measured privately. They may be seen by anyone the "
        "budget was meant for.",
    ),
    "certificate": (
        "Certificate",
        "What ran, what was charged for it, who is protected, and the ledger's entry, as a file that others "
        "can check.",
    ),
    "anchor": (
        "Anchor",
        "The number of entries in a ledger and the hash of the last one. Kept elsewhere, it shows whether "
        "entries were cut off or an old copy was put in place.",
    ),
    "account": (
        "Account",
        "A part of the budget with a limit of its own, such as one for each project. Its charges count "
        "against the whole, too.",
    ),
    "claim": (
        "Claim",
        "A guarantee that this toolkit states, with its proof, and an attack that tries to break it.",
    ),
    "audit": (
        "Audit",
        "An attack on a claim: many runs on two tables that differ in one person, and the best test that "
        "tells them apart. If it tells more than the claim allows, the claim is wrong.",
    ),
    "rows": (
        "Number of rows",
        "A guess that you may make because it is public, or from elsewhere. Errors of means and quantiles "
        "depend on it. The real number isn't looked up.",
    ),
}

// A column's heading sorts its table, by a click or by a key; a second time turns the order round.
"use strict";
const leadingNumber = /^-?(inf|∞|\d[\d  ,]*(\.\d+)?(e[-+]?\d+)?)/i;

// Cells as "12", "-0.5 %", "1e-05", "inf", "1 (ε)" or "5 of 5" go by the number that they begin with.
function readNumber(text) {
  const found = text.replace(/[−–]/g, "-").match(leadingNumber);
  if (!found) return NaN;
  return Number(found[0].replace(/[  ,]/g, "").replace(/inf|∞/i, "Infinity"));
}

// Whatever the order, empty cells come last; words come after numbers.
function compareCells(a, b, sign) {
  if (!a || !b) return Number(!a) - Number(!b);
  const [x, y] = [readNumber(a), readNumber(b)];
  if (Number.isNaN(x) !== Number.isNaN(y)) return sign * (Number.isNaN(x) ? 1 : -1);
  if (!Number.isNaN(x) && x !== y) return sign * (x < y ? -1 : 1);
  return sign * a.localeCompare(b);
}

function sortBy(body, headings, column) {
  const heading = headings[column];
  const down = heading.getAttribute("aria-sort") === "ascending";
  for (const other of headings) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const text = (row) => (row.cells[column]?.textContent ?? "").trim();
  body.append(...[...body.rows].sort((a, b) => compareCells(text(a), text(b), down ? -1 : 1)));
}

for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const headings = table.tHead ? [...table.tHead.rows[0].cells] : [];
  if (!body || body.rows.length < 5) continue;
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => sortBy(body, headings, column));
  });
}

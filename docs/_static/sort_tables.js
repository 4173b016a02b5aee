// A click on a column's heading sorts its table; a second one turns the order round.
"use strict";
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const headings = table.tHead ? [...table.tHead.rows[0].cells] : [];
  if (!body || body.rows.length < 5) continue;
  const number = (text) => {
    const plain = text.trim().replace(/[−–]/g, "-").replace(/[ ,%×]/g, "");
    return plain === "" ? NaN : plain === "inf" ? Infinity : Number(plain);
  };
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = (row) => row.cells[column]?.textContent ?? "";
      const compare = (a, b) => {
        const [x, y] = [number(text(a)), number(text(b))];
        if (Number.isNaN(x) && Number.isNaN(y)) return text(a).localeCompare(text(b));
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
        return x - y;
      };
      const rows = [...body.rows].sort((a, b) => (down ? compare(b, a) : compare(a, b)));
      body.append(...rows);
    });
  });
}

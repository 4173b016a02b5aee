// What pages do while somebody types: everything also works without it, but for uploads.
"use strict";

const wait = (act, pause) => {
  let timer = 0;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => act(...given), pause); };
};

// A part of a page from our own server, which escaped it.
const show = (target, html) => { target.innerHTML = html; };

// Sliders on a logarithmic scale beside a field.
for (const slider of document.querySelectorAll("[data-log-of]")) {
  const field = document.getElementById(slider.dataset.logOf);
  const follow = () => {
    const value = Number(field.value);
    if (value > 0) slider.value = Math.log10(value);
    slider.setAttribute("aria-valuetext", "ε = " + field.value);
  };
  slider.addEventListener("input", () => {
    field.value = String(Number((10 ** Number(slider.value)).toPrecision(2)));
    slider.setAttribute("aria-valuetext", "ε = " + field.value);
  });
  field.addEventListener("input", follow);
  follow();
}

// Forms whose plan changes while somebody moves a slider.
for (const form of document.querySelectorAll("form[data-live]")) {
  const target = document.getElementById(form.dataset.live);
  let turn = 0;
  const update = wait(async () => {
    const own = ++turn;
    const answer = await fetch(form.action, {
      method: "POST",
      headers: { "x-part": "1", "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(new FormData(form)),
    });
    const html = await answer.text();
    if (own === turn && answer.ok) show(target, html);
  }, 250);
  form.addEventListener("input", () => { delete target.dataset.load; update(); });
}

// A plan for which the page didn't wait.
for (const target of document.querySelectorAll("[data-load]")) {
  const tell = () => { target.querySelector("p").textContent = "It can't be worked out now: open this page again."; };
  fetch(target.dataset.load).then(async (answer) => {
    const html = await answer.text();
    if (!target.dataset.load) return;
    if (answer.ok) show(target, html);
    else tell();
  }).catch(tell);
}

// Forms that explain what they say before they are sent.
for (const form of document.querySelectorAll("form[data-look]")) {
  const target = document.getElementById(form.dataset.into);
  let turn = 0;
  const update = wait(async () => {
    const own = ++turn;
    const asked = new URLSearchParams();
    for (const name of ["epsilon", "delta", "relation"]) asked.set(name, new FormData(form).get(name) ?? "");
    const answer = await fetch(form.dataset.look + "?" + asked);
    const html = await answer.text();
    if (own === turn && answer.ok) {
      const title = target.querySelector("h2");
      show(target, html);
      target.prepend(title);
    }
  }, 150);
  form.addEventListener("input", update);
}

// Whether somebody chose from a list before this script came.
const isChosen = (select) => select.value !== "" && !select.selectedOptions[0].defaultSelected;

// The fields of a column follow what it is.
for (const select of document.querySelectorAll("[data-kind-of]")) {
  const row = select.closest(select.dataset.kindOf);
  const follow = () => { row.dataset.kind = select.value; };
  select.addEventListener("change", follow);
  if (isChosen(select)) follow();
}

// Whoever names the column of people means people.
for (const field of document.querySelectorAll("[data-checks]")) {
  const follow = () => {
    if (field.value) document.getElementById(field.dataset.checks).checked = true;
  };
  field.addEventListener("input", follow);
  if (isChosen(field)) follow();
}

// A question about no column becomes one about the column that was chosen.
for (const column of document.querySelectorAll("select[data-suggests]")) {
  const kind = document.getElementById(column.dataset.suggests);
  const follow = () => {
    const group = column.selectedOptions[0].closest("optgroup");
    if (group && ["count", "people"].includes(kind.value)) kind.value = group.dataset.suggests;
  };
  column.addEventListener("input", follow);
  if (isChosen(column)) follow();
}

// Releases and audits that go on.
for (const part of document.querySelectorAll("[data-poll]")) {
  const bar = part.querySelector("progress");
  const look = async () => {
    try {
      const answer = await fetch(part.dataset.poll);
      if (answer.ok) {
        const found = await answer.json();
        if (!found.goes_on) { location.reload(); return; }
        if (bar && found.share >= 0) bar.value = found.share;
      }
    } catch { /* the studio may have ended: look again */ }
    setTimeout(look, 700);
  };
  setTimeout(look, 300);
}

// One click is enough; the server charges once in any case.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-once]")) return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "1";
  form.querySelector("button").setAttribute("aria-disabled", "true");
});

// Uploads, piece by piece, without a copy in memory.
for (const form of document.querySelectorAll("form[data-upload]")) {
  const [words, bar] = [form.querySelector(".wrong"), form.querySelector("progress")];
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const file = form.querySelector("input[type=file]").files[0];
    if (!file) return;
    words.hidden = true;
    bar.hidden = false;
    let told = "The file can't be copied: it may be too large.";
    try {
      const answer = await fetch(form.dataset.upload + "?name=" + encodeURIComponent(file.name), {
        method: "PUT", body: file, headers: { "content-type": "application/octet-stream" },
      });
      const found = answer.ok ? await answer.json() : {};
      if (found.place) { location.href = found.place; return; }
      told = found.error || told;
    } catch { /* told below */ }
    bar.hidden = true;
    words.textContent = told;
    words.hidden = false;
  });
}

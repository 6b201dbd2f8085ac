// What pages do beyond links and forms. Attributes say what; there is no state but the page's own.
//   data-post     POST to this address when the page has loaded, and put the answer here
//   data-poll     GET this address again and again, and put the answer in place of the element
//   data-reload  a job that has ended while the page was open: what it made is on the page
//   data-into     (form) send without leaving the page; the answer goes into this element
//   data-live     (form) the same after every change of a field, to this address
//                 a file of such a form is sent as text, and kept nowhere
//   data-then     (form) and then, if a table is chosen, to this address, as data-into does; what is
//                 there until the answer comes is of the settings before
//   data-upload   (field) send the chosen files, then reload or choose them in data-chooses
//   data-send     (button) send its form to this address, as data-into does; not by Enter
//   data-copy     (button) copy this text; data-tab (button) show this panel
"use strict";

const POLL = 400, LOST = 2000, PAUSE = 250, THEN = 400;

async function send(address, body) {
  return fetch(address, { method: body === null ? "GET" : "POST", body,
    headers: { "x-fragment": "1" } });
}

async function fieldsOf(form, button) {
  const data = new URLSearchParams();
  for (const [name, value] of new FormData(form)) data.append(name, typeof value === "string" ? value : await value.text());
  if (button && button.name) data.append(button.name, button.value);
  return data;
}

async function put(target, answer, replaces) {
  if (answer.headers.has("x-go")) { location.assign(answer.headers.get("x-go")); return; }
  const made = document.createElement("template");
  made.innerHTML = await answer.text();
  const focused = document.activeElement && document.activeElement.id;
  const at = document.activeElement && document.activeElement.selectionStart;
  const open = [...target.querySelectorAll("details[open][id]")].map((each) => each.id);
  if (replaces && made.content.querySelector("[data-reload]")) { location.reload(); return; }
  if (replaces) { const first = made.content.firstElementChild; target.replaceWith(made.content); target = first; }
  else target.replaceChildren(made.content);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  const again = focused && document.getElementById(focused);
  if (again && again !== document.activeElement) {
    again.focus();
    if (typeof at === "number" && again.setSelectionRange && again.tagName === "TEXTAREA") again.setSelectionRange(at, at);
  }
  if (target) begin(target.parentElement || target);
}

function begin(root) {
  for (const each of root.querySelectorAll("svg.chart:not([tabindex])")) answering(each);
  for (const each of root.querySelectorAll("[data-post]")) {
    const address = each.dataset.post, form = each.closest("form");
    delete each.dataset.post;
    Promise.resolve(form ? fieldsOf(form) : "").then((fields) => send(address, fields)).then((answer) => put(each, answer)).catch(() => { each.textContent = "The server does not answer."; });
  }
  for (const each of root.querySelectorAll("[data-done]")) {
    const form = document.getElementById("policy-form");
    form.querySelector("[name=values_job]").value = each.dataset.done;
    form.querySelector("[name=changed]").value = "";
    submit(form, null, form.dataset.live);
  }
  for (const each of root.querySelectorAll("[data-poll]:not([data-polling])")) {
    each.dataset.polling = "1";
    poll(each);
  }
}

function poll(element) {
  const again = (pause) => setTimeout(async () => {
    if (!element.isConnected || element.closest(".outdated")) return;
    try {
      const answer = await send(element.dataset.poll, null);
      element.classList.remove("lost");
      await put(element, answer, true);
    } catch {
      element.classList.add("lost"); // the connection is lost; the work goes on
      again(LOST);
    }
  }, pause);
  again(POLL);
}

async function submit(form, button, address) {
  const target = document.getElementById((address === form.dataset.live && form.dataset.liveInto) || (button && button.dataset.into) || form.dataset.into);
  const typed = form.typed;
  const number = (target.number = (target.number || 0) + 1);
  try {
    const answer = await send(address, await fieldsOf(form, button));
    if (number !== target.number || typed !== form.typed) return;
    await put(target, answer);
    if (address === form.dataset.then || button) outdated(target, false);
  } catch {
    target.textContent = "The server does not answer.";
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target, button = event.submitter;
  if (!form.dataset.into) return;
  event.preventDefault();
  submit(form, button, (button && button.getAttribute("formaction")) || form.getAttribute("action"));
});

// Marks what a panel shows as of the settings before: it cannot be acted on any more.
function outdated(panel, isOutdated) {
  panel.classList.toggle("outdated", isOutdated && panel.childElementCount > 0);
  if (isOutdated) for (const each of panel.querySelectorAll("button:not([role=tab])")) each.disabled = true;
}

let waiting, then;
document.addEventListener("input", (event) => {
  const form = event.target.form;
  const shown = event.target.dataset.shows && document.getElementById(event.target.dataset.shows);
  if (shown) shown.textContent = (event.target.dataset.before || "") + event.target.value + (event.target.dataset.after || "");
  const sets = event.target.dataset.sets && document.getElementById(event.target.dataset.sets);
  if (sets) sets.value = event.target.dataset.before + event.target.value;
  if (event.target.dataset.filter) { filter(event.target); return; }
  if (!form || !form.dataset.live || event.target.dataset.still !== undefined) return;
  form.typed = (form.typed || 0) + 1;
  const changed = form.querySelector("[name=changed]");
  if (changed) changed.value = event.target.name;
  clearTimeout(waiting);
  waiting = setTimeout(() => submit(form, null, form.dataset.live), PAUSE);
  if (!form.dataset.then) return;
  outdated(document.getElementById(form.dataset.into), true);
  clearTimeout(then);
  if (form.elements.table) then = setTimeout(() => submit(form, null, form.dataset.then), THEN);
});

function filter(field) {
  const wanted = field.value.toLowerCase();
  for (const each of document.querySelectorAll(field.dataset.filter)) {
    each.hidden = !each.textContent.toLowerCase().includes(wanted);
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy !== undefined) {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  }
  if (button.dataset.send) submit(button.form, button, button.dataset.send);
  if (button.dataset.tab) {
    for (const each of button.parentElement.children) each.setAttribute("aria-selected", String(each === button));
    for (const each of document.querySelectorAll(`[data-tabs="${button.parentElement.id}"]`)) each.hidden = each.id !== button.dataset.tab;
  }
});

document.addEventListener("keydown", (event) => {
  const tab = event.target.closest("[role=tab]");
  const step = { ArrowRight: "nextElementSibling", ArrowLeft: "previousElementSibling" }[event.key];
  if (tab && step && tab[step]) { tab[step].focus(); tab[step].click(); }
});

async function upload(field, files) {
  const said = document.getElementById(field.dataset.says);
  for (const file of files) {
    said.textContent = `Sending ${file.name} …`;
    try {
      const answer = await fetch("/uploads", { method: "POST", body: file,
        headers: { "x-name": encodeURIComponent(file.name), "x-fragment": "1" } });
      if (!answer.ok) {
        const words = await answer.text();
        if ((answer.headers.get("content-type") || "").includes("html")) said.innerHTML = words;
        else said.textContent = words;
        return;
      }
    } catch {
      said.textContent = `${file.name} was not taken: it is too large, or the server does not answer.`;
      return;
    }
  }
  location.reload();
}

document.addEventListener("change", (event) => {
  if (event.target.dataset.upload !== undefined && event.target.files.length) upload(event.target, event.target.files);
});
for (const type of ["dragover", "drop"]) {
  document.addEventListener(type, (event) => {
    const zone = event.target.closest(".drop");
    if (!zone) return;
    event.preventDefault();
    if (type === "drop") upload(zone.querySelector("[data-upload]"), event.dataTransfer.files);
  });
}

// A chart says at once what is under the pointer or, by the arrow keys, at the chosen place.
const tip = document.createElement("p");
tip.className = "tip";
tip.setAttribute("role", "status");
tip.hidden = true;
document.body.append(tip);

function answering(chart) {
  for (const title of chart.querySelectorAll("title")) {
    if (title.parentElement !== chart) title.parentElement.dataset.told = title.textContent;
    title.remove(); // the browser would show it, later and smaller
  }
  if (chart.querySelector(".at")) chart.tabIndex = 0;
}

function tell(place) {
  for (const each of document.querySelectorAll(".at.told")) each.classList.remove("told");
  tip.hidden = !place;
  if (!place) return;
  place.classList.add("told");
  tip.textContent = place.dataset.told;
  const box = place.getBoundingClientRect(), right = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(8, Math.min(box.left + box.width / 2 - tip.offsetWidth / 2, right)) + scrollX}px`;
  tip.style.top = `${Math.max(0, box.top + scrollY - tip.offsetHeight)}px`;
}

document.addEventListener("pointerover", (event) => tell(event.target.closest("svg.chart .at")));
document.addEventListener("focusout", (event) => { if (event.target.closest("svg.chart")) tell(null); });
document.addEventListener("keydown", (event) => {
  const chart = event.target.closest("svg.chart");
  if (!chart || !["ArrowLeft", "ArrowRight", "Escape"].includes(event.key)) return;
  const places = [...chart.querySelectorAll(".at")], now = places.findIndex((each) => each.classList.contains("told"));
  event.preventDefault();
  if (event.key === "Escape") tell(null);
  else tell(places[Math.max(0, Math.min(places.length - 1, event.key === "ArrowRight" ? now + 1 : now - 1))]);
});

begin(document);

"use strict";
// Times in the reader's zone, leases that count down, and dialogs that the keyboard reaches. Nothing is fetched here.
(() => {
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

  function localize(root) {
    for (const node of root.querySelectorAll("time.az-time:not([data-done])")) {
      const at = new Date(node.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const today = new Date().toDateString() === at.toDateString();
      const year = new Date().getFullYear() === at.getFullYear() ? "" : ` ${at.getFullYear()}`;
      node.textContent = today ? clock.format(at) : `${day.format(at)}${year} ${clock.format(at)}`;
      node.dataset.done = "1";
    }
  }

  function spoken(seconds) {
    const whole = Math.max(0, Math.floor(seconds));
    if (whole < 60) return `${whole} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
    return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  }

  // By length, not by the local clock: the server said how many seconds were left when it wrote the page.
  const deadlines = new WeakMap();
  function countDown() {
    for (const node of document.querySelectorAll(".az-left")) {
      if (!deadlines.has(node)) deadlines.set(node, performance.now() + Number(node.dataset.left) * 1000);
      const left = (deadlines.get(node) - performance.now()) / 1000;
      node.textContent = left > 0 ? spoken(left) : `over by ${spoken(-left)}`;
      node.classList.toggle("az-over", left <= 0);
      node.classList.toggle("az-soon", left > 0 && left < 30);
    }
  }

  // A part that is fetched again after the session ended must not show the login page inside the dashboard.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!new URL(event.detail.xhr.responseURL, location).pathname.endsWith("/login/")) return;
    event.detail.shouldSwap = false;
    location.reload();
  });
  // A dialog that got no answer, or a refusal, must not look as if nothing had been asked.
  function tellInDialog(dialog, status) {
    const said = dialog.querySelector("[data-unanswered]") ?? document.createElement("p");
    said.dataset.unanswered = "1";
    said.className = "az-bad";
    said.setAttribute("role", "alert");
    said.textContent = status
      ? `The site refused this (${status}); nothing was done. You may lack the permission by now, or what it is about is gone: reload the page.`
      : "No answer from the server. It may have been done all the same: look at the page before you try again.";
    dialog.querySelector("#dialog-form")?.prepend(said);
  }
  // Numbers that stopped coming are old; the page must say so rather than look healthy.
  for (const name of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      const { target, xhr } = event.detail;
      if (target?.id === "dialog") tellInDialog(target, xhr?.status < 500 ? xhr.status : 0);
      else target?.classList.add("az-stale");
    });
  }
  document.addEventListener("htmx:afterSwap", (event) => event.detail.target?.classList.remove("az-stale"));

  // A part that keeps itself fresh must not take the focus from whoever walks through its links by keyboard.
  let walked = null;
  const linksTo = (part, address) => [...(part?.querySelectorAll("a[href]") ?? [])].filter((link) => link.getAttribute("href") === address);
  document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
    const focused = document.activeElement;
    walked = null;
    if (!target?.getAttribute("hx-trigger")?.startsWith("every") || !target.contains(focused) || !focused.matches("a[href]")) return;
    const address = focused.getAttribute("href");
    walked = { part: target.id, address, place: linksTo(target, address).indexOf(focused) };
  });
  document.addEventListener("htmx:afterSettle", () => {
    if (walked) linksTo(document.getElementById(walked.part), walked.address)[walked.place]?.focus();
    walked = null;
  });

  // A page that asks is answered once, however often its button is pressed; coming back to it asks anew.
  const answered = new Set();
  document.addEventListener("submit", (event) => {
    if (!event.target.classList.contains("az-dialog")) return;
    if (answered.has(event.target)) event.preventDefault();
    answered.add(event.target);
  });
  addEventListener("pageshow", () => answered.clear());

  // Not while somebody types in it already: half a password would end in the reason, for all to read.
  function focusDialog() {
    const dialog = document.getElementById("dialog");
    if (dialog?.contains(document.activeElement)) return;
    dialog?.querySelector("textarea, input:not([type=hidden]), select")?.focus();
  }

  let opener = null;
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.target?.id === "modal-content") opener = event.detail.elt;
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    localize(document);
    countDown();
    if (event.detail.target?.id === "modal-content" || event.detail.target?.id === "dialog") {
      // Alpine shows the dialog a moment later; what is hidden cannot have the focus.
      setTimeout(focusDialog, 60);
    }
  });
  document.addEventListener("keydown", (event) => {
    const dialog = document.getElementById("dialog");
    if (!dialog || dialog.offsetParent === null) return;
    if (event.key === "Escape") {
      opener?.focus();
    } else if (event.key === "Tab") {
      const stops = [...dialog.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea")];
      const first = stops[0], last = stops[stops.length - 1];
      if (event.shiftKey && document.activeElement === first) { last.focus(); event.preventDefault(); }
      else if (!event.shiftKey && document.activeElement === last) { first.focus(); event.preventDefault(); }
    }
  });

  document.addEventListener("DOMContentLoaded", () => {
    localize(document);
    countDown();
    setInterval(countDown, 1000);
  });
})();

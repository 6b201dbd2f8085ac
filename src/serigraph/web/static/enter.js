// Swap the token behind the # for a cookie, and take it out of the address and the history.
"use strict";
(async () => {
  const token = location.hash.slice(1);
  history.replaceState(null, "", "/");
  const words = document.getElementById("entering");
  if (!token) return;
  words.textContent = "Opening …";
  const answer = await fetch("/enter", { method: "POST", body: token });
  if (answer.ok) location.replace("/");
  else words.textContent = document.body.dataset.used;
})();

// Every page loads this one; each part starts where its element is.
import * as actions from "./actions.js";
import * as drop from "./drop.js";
import * as heat from "./heat.js";
import * as live from "./live.js";
import * as login from "./login.js";
import * as order from "./order.js";
import * as playground from "./playground.js";
import * as review from "./review.js";

for (const part of [actions, drop, heat, live, login, order, playground, review]) part.start();
document.documentElement.toggleAttribute("data-ready", true); // until now a click would have been lost

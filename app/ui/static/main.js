// Every page loads this one; each part starts where its element is.
import * as actions from "./actions.js";
import * as drop from "./drop.js";
import * as heat from "./heat.js";
import * as live from "./live.js";
import * as order from "./order.js";
import * as playground from "./playground.js";
import * as review from "./review.js";

for (const part of [actions, drop, heat, live, order, playground, review]) part.start();

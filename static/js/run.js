/* The Run page. */
import { Waterfall } from "sixstage/waterfall.js";
import "sixstage/whole-values.js";

const host = document.getElementById("wf");
const data = JSON.parse(document.getElementById("waterfall-data").textContent);
new Waterfall(host, data);

/* What every page has. A page's own behaviour is in a module of its name. */
import "sixstage/theme-switch.js";
import "sixstage/times.js";
import "sixstage/stage-card.js";
import "sixstage/rows.js";
import "sixstage/toggles.js";
import "sixstage/copy.js";
import "sixstage/keys.js";
import "sixstage/failures.js";
import "sixstage/menus.js";
import "sixstage/help.js";

/** The door of the page: what people see who follow a link to decide by. */
export { type DecisionPageOptions, decisionPage } from "./decision-page.ts";

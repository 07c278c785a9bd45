import { clusterOf } from "./global-cluster.ts";

export default clusterOf(4);

export {
  type CallFeed as CallSource,
  codeNameOf,
  type LiveCall,
  type LiveCalls,
  type ObservedCall as SeenCall,
} from './calls/seen.ts'
export { answered, callsOf, ProxiedCalls } from './calls/sources.ts'
export { type BrokenInvariant as Finding, converge, findingsIn, type Invariant } from './invariants.ts'
export { inOrder, type Plan, type PlannedStep, play, scattered, type Timed } from './plan.ts'
export { type CallFault, type ChooseFault, methodOf, type ProxiedCall } from './proxy/call.ts'
export { type ProxyOptions, startProxy } from './proxy/proxy.ts'
export { between, type Choice, Occurrences, pick, type Random, seeded, weighted } from './random.ts'
export { runSeeds, SEEDS, type SeedVerdict as Verdict, seedsOf, tableOf } from './seeds.ts'
export { shrink } from './shrink.ts'
export { until } from './until.ts'

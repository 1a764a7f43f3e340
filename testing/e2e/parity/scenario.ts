import type { Resource } from '@csi-sidecars/kube-types'
import type { Api, Ref } from '../harness/api/api.ts'
import type { View } from './view.ts'

/** One side of a scenario. Its claims and pods have a namespace of their own; other names contain its id. */
export interface ScenarioSide {
  readonly api: Api
  readonly id: string
  /** The driver that can create, attach and delete volumes. */
  readonly driver: string
  /** Returns the name of an object without a namespace: `pv` becomes `p07-pv`. */
  name(what: string): string
}

/** One thing that a user, an administrator, a kubelet or a sidecar does. */
export type Action = (scene: ScenarioSide) => Promise<unknown>

/** Some actions; their effects have settled before the next step. */
export interface Step {
  readonly actions: readonly Action[]
  /** A condition that the controllers need more time for. */
  readonly until?: (view: View) => boolean
  /** The time limit of that condition; by default a minute. */
  readonly timeLimitMs?: number
}

export interface Scenario {
  readonly name: string
  readonly steps: readonly Step[]
  /** The scenarios of one round run in parallel; the first round, unless the scenario would disturb others. */
  readonly round?: number
  /** One of the controllers needs minutes: runs only with `--long`. */
  readonly long?: boolean
}

/** A scenario by its name and the actions of its steps. */
export function scenario(name: string, ...steps: readonly (readonly Action[] | Step)[]): Scenario {
  return { name, steps: steps.map((step) => ('actions' in step ? step : { actions: step })) }
}

/** True when no object of a kind exists. */
export function gone(kind: string): (view: View) => boolean {
  return ({ objects }) => ![...objects.keys()].some((name) => name.startsWith(`${kind} `))
}

export function refIn(scene: ScenarioSide, resource: Resource<unknown>, what: string): Ref {
  return resource.namespaced ? { namespace: scene.id, name: what } : { name: scene.name(what) }
}

import type { Resource } from '@csi-sidecars/kube-types'
import type { Api, Ref } from '../harness/api.ts'
import type { View } from './view.ts'

/** Where a scenario takes place on one side. Its claims and pods have a namespace of their own; other names carry its id. */
export interface ScenarioSide {
  readonly api: Api
  readonly id: string
  /** The driver whose volumes can be made, attached and deleted. */
  readonly driver: string
  /** `pv` -> `p07-pv`, for what has no namespace. */
  name(what: string): string
}

/** One thing that a user, an administrator, a kubelet or a sidecar does. */
export type Deed = (scene: ScenarioSide) => Promise<unknown>

/** Some deeds; what follows from them has settled before the next step. */
export interface Step {
  readonly deeds: readonly Deed[]
  /** What the controllers may take longer for than they are usually given. */
  readonly until?: (view: View) => boolean
  /** For that; a minute unless it is said. */
  readonly patienceMs?: number
}

export interface Scenario {
  readonly name: string
  readonly steps: readonly Step[]
  /** Those of one round are played side by side; the first, unless it would disturb others there. */
  readonly round?: number
  /** One of the controllers takes minutes for it: played with `--long` only. */
  readonly long?: boolean
}

/** A scenario by its name and the deeds of its steps. */
export function scenario(name: string, ...steps: readonly (readonly Deed[] | Step)[]): Scenario {
  return { name, steps: steps.map((step) => ('deeds' in step ? step : { deeds: step })) }
}

/** That nothing of a kind is left. */
export function gone(kind: string): (view: View) => boolean {
  return ({ objects }) => ![...objects.keys()].some((name) => name.startsWith(`${kind} `))
}

export function refIn(scene: ScenarioSide, resource: Resource<unknown>, what: string): Ref {
  return resource.namespaced ? { namespace: scene.id, name: what } : { name: scene.name(what) }
}

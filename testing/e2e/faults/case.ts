import type { Random } from '@csi-sidecars/disturb'
import { PERSISTENT_VOLUME_CLAIMS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import type { TestContext } from '../harness/context.ts'
import { CANARY, sound } from '../harness/process/sound.ts'
import type { TestedApp } from '../harness/subject.ts'
import type { WorkScene, WorkSetup } from '../rows/work.ts'
import * as work from '../rows/work.ts'

/** A test of one sidecar under one kind of injected fault. A seed makes its random choices repeatable. */
export interface FaultCase {
  readonly app: TestedApp
  /** The group of the case, such as `answers` or `frames`. */
  readonly kind: string
  readonly fault: string
  /** Runs the case. `random` depends only on the seed and the case. */
  readonly run: (t: TestContext, random: Random) => Promise<void>
}

/** Flags with short retry intervals. */
export const QUICK = ['--retry-interval-start=100ms', '--retry-interval-max=1s', '--timeout=5s']
/** The time-out for the expected result. It allows for the longest back-off and Retry-After. */
const SETTLED_WITHIN_MS = 60_000

/** Resources without fault cases, because the sidecar reads them only for some objects. */
const RARE: ReadonlySet<string> = new Set(['leases', 'pods', 'volumeattributesclasses'])

/** Returns the resources on which the sidecar needs this RBAC verb for its work. */
export function resourcesWith(app: TestedApp, verb: string): readonly string[] {
  const resources = FACTS[app].rules.flatMap((rule) => (rule.verbs.includes(verb) ? rule.resources : []))
  return resources.filter((resource) => !RARE.has(resource))
}

/** Creates the objects that the sidecar must handle, with a Secret whose content must not appear in the log. */
export async function begin(t: TestContext): Promise<void> {
  await work.begin(t, { secret: await t.createSecret({ password: CANARY }) })
}

export async function done(t: TestContext): Promise<void> {
  await work.done(t, { within: SETTLED_WITHIN_MS })
}

/**
 * Starts a sidecar under the injected fault, and checks that it completes its work. `meanwhile` runs after the objects
 * are created.
 */
export async function survives(
  t: TestContext,
  { args = [], ...setup }: WorkSetup,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<WorkScene> {
  const at = await work.scene(t, { ...setup, args: [...QUICK, ...args], watches: [] })
  await begin(t)
  await meanwhile()
  await done(t)
  await sound(at.sidecar)
  return at
}

/** Annotates the object, so that a sidecar that gave up after a fault tries again. */
export async function touch(t: TestContext): Promise<void> {
  const body = { metadata: { annotations: { touched: 'yes' } } }
  if (t.app === 'attacher') await t.api.merge(VOLUME_ATTACHMENTS, { name: t.name('va') }, body)
  else await t.api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name: t.name('pvc') }, body)
}

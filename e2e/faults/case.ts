import { deepStrictEqual as equal, match } from 'node:assert'
import {
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  SECRETS,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { secret } from '../harness/objects.ts'
import type { App } from '../harness/subject.ts'
import { eventually } from '../harness/waiting.ts'
import type { RunningSidecar, World } from '../harness/world.ts'
import { attach, attached } from '../stories/attacher/scene.ts'
import { ask, bound } from '../stories/resizer/scene.ts'

/** What was agreed upon by chance: the same for the same seed and case. */
export interface Chance {
  /** From 1 to `most`. */
  upTo(most: number): number
}

export interface FaultCase {
  readonly app: App
  /** `answers`, `frames`, ... */
  readonly kind: string
  readonly what: string
  readonly tell: (t: World, chance: Chance) => Promise<void>
}

/** Failures are over soon, and so is the wait after them. */
export const QUICK = ['--retry-interval-start=100ms', '--retry-interval-max=1s', '--timeout=5s']
export const CAPABILITIES = ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] as const
export const CANARY = 'canary-password'
/** A fault may cost a back-off of any part of the process, or the longest pause that a server gets by asking for it. */
const SETTLED_WITHIN_MS = 60_000

/** A Secret for the driver's calls; its content may stand nowhere. */
export async function callSecret(t: World): Promise<{ name: string; namespace: string }> {
  const ref = { name: t.name('secret'), namespace: 'default' }
  await t.create(SECRETS, secret(ref.namespace, ref.name, { password: CANARY }))
  return ref
}

/** Gives the sidecar its piece of work: a volume to attach, a claim to expand. */
export async function begin(t: World, node: string): Promise<void> {
  const ref = await callSecret(t)
  if (t.app === 'attacher') {
    await attach(t, { node }, { pv: { csi: { controllerPublishSecretRef: ref } } })
    return
  }
  await bound(t, { pv: { csi: { controllerExpandSecretRef: ref } } })
  await ask(t, '2Gi')
}

/** The work is done, without anybody's help. */
export async function done(t: World): Promise<void> {
  if (t.app === 'attacher') await attached(t, t.name('va'), { within: SETTLED_WITHIN_MS })
  else {
    const grown = ({ status }: PersistentVolumeClaim): boolean => status?.capacity?.['storage'] === '2Gi'
    const ref = { namespace: t.namespace, name: t.name('pvc') }
    await t.api.until(PERSISTENT_VOLUME_CLAIMS, ref, grown, { within: SETTLED_WITHIN_MS })
  }
}

/** Somebody changes the object a little: what an answer took for gone or impossible is looked at once more. */
export async function touch(t: World): Promise<void> {
  const body = { metadata: { annotations: { touched: 'yes' } } }
  if (t.app === 'attacher') await t.api.merge(VOLUME_ATTACHMENTS, { name: t.name('va') }, body)
  else await t.api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name: t.name('pvc') }, body)
}

const KLOG = /^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [\w.-]+:\d+\] /
/** What no line says that was written on purpose. */
const FOREIGN =
  /^\s+at .*:\d+:\d+|Node\.js v\d|Unexpected failure|\b(Type|Reference|Range)Error\b|\[object Object\]|=undefined\b|desc = undefined/

/** It lives, answers its probes, writes lines that are lines, and has told nobody the secret. */
export async function sound(sidecar: RunningSidecar): Promise<void> {
  equal(sidecar.exit, undefined)
  await eventually('readiness', async () => (await sidecar.http('/readyz')).code === 200)
  equal((await sidecar.http('/livez')).code, 200)
  match((await sidecar.metrics()).text, /^process_open_fds \d+$/m)
  soundLines(sidecar)
}

export function soundLines(sidecar: RunningSidecar): void {
  const foreign = sidecar.lines.filter((line) => FOREIGN.test(line))
  equal(foreign, [])
  // A value with line breaks goes on in lines that are indented.
  const loose = sidecar.lines.filter((line) => !KLOG.test(line) && !/^[\s>]/.test(line))
  equal(loose, [])
  equal(sidecar.linesWith(CANARY), [])
}

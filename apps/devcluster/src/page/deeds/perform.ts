import { type Clock, messageOf } from '@csi-sidecars/base'
import {
  NODES,
  type Patch,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  STORAGE_CLASSES,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { PODS_BY_NODE } from '../../caches/caches.ts'
import { isTerminated } from '../../caches/pod.ts'
import type { Devcluster } from '../../cluster/devcluster.ts'
import { ensure } from '../../cluster/register.ts'
import { refOf } from '../../control.ts'
import { claimObject, classObject, goldObject, NAMES, podObject } from '../../story/objects.ts'
import { DEED_NAMES, type DeedName } from '../view/deed-table.ts'
import { breakCalls } from './faults.ts'
import type { Deed } from './parse.ts'

export interface DeedParts {
  readonly cluster: Devcluster
  readonly clock: Clock
  /** Tells the story as far as a chapter; undefined where there is no story. */
  readonly tellTo: ((chapter: number) => void) | undefined
  /** Told of what went wrong after the answer. */
  readonly onTrouble: (text: string) => void
}

type Values = Deed['values']
type Perform = (values: Values, parts: DeedParts, signal: AbortSignal) => Promise<string>

/** The deeds that this cluster can do: only what is emulated can be broken. */
export function deedsOf({ cluster, tellTo }: Pick<DeedParts, 'cluster' | 'tellTo'>): readonly DeedName[] {
  const { emulatedDriver, sidecars } = cluster
  const lacks = new Set<DeedName>([
    ...(emulatedDriver === undefined ? (['breakCalls', 'mendCalls', 'killDriver'] as const) : []),
    ...(sidecars.length === 0 ? (['killSidecar'] as const) : []),
    ...(tellTo === undefined ? (['tellChapter'] as const) : []),
  ])
  return DEED_NAMES.filter((name) => !lacks.has(name))
}

/** Does it, and says so in a sentence. Fails with the words of the API where that refuses. */
export function perform({ name, values }: Deed, parts: DeedParts, signal: AbortSignal): Promise<string> {
  return PERFORM[name](values, parts, signal)
}

const PERFORM: Readonly<Record<DeedName, Perform>> = {
  async makeClaim({ name, size = '', class: className = '' }, { cluster }, signal) {
    const { client, driver } = cluster
    if (className === NAMES.storageClass) await ensure(client, STORAGE_CLASSES, classObject(driver.name), signal)
    const claim = claimObject(size, name)
    const { storageClassName: _, ...spec } = { ...claim.spec }
    const object = { ...claim, spec: { ...spec, ...(className !== '' && { storageClassName: className }) } }
    await client.create(PERSISTENT_VOLUME_CLAIMS, object, { signal })
    return `Claim ${name} is made.`
  },
  async makePod({ name = '', claim = '', node = '' }, { cluster }, signal) {
    const object = podObject({ pod: name, claim: refOf(claim).name, ...(node !== '' && { node }) })
    await cluster.client.create(PODS, { ...object, metadata: { ...inNamespace(claim), name } }, { signal })
    return `Pod ${name} is made.`
  },
  async raiseClaim({ claim = '', size = '' }, parts, signal) {
    await patchClaim(claim, { resources: { requests: { storage: size } } }, parts, signal)
    return `Claim ${claim} asks for ${size}.`
  },
  async changeClass({ claim = '', class: className = '' }, parts, signal) {
    const { client, driver } = parts.cluster
    if (className === NAMES.gold) await ensure(client, VOLUME_ATTRIBUTES_CLASSES, goldObject(driver.name), signal)
    await patchClaim(claim, { volumeAttributesClassName: className }, parts, signal)
    return `Claim ${claim} asks for class ${className}.`
  },
  async deletePod({ pod = '' }, { cluster }, signal) {
    await cluster.client.delete(PODS, inNamespace(pod), { signal })
    return `Pod ${pod} is deleted.`
  },
  async deleteClaim({ claim = '' }, { cluster }, signal) {
    await cluster.client.delete(PERSISTENT_VOLUME_CLAIMS, inNamespace(claim), { signal })
    return `Claim ${claim} is deleted.`
  },
  drainNode: async ({ node = '' }, parts, signal) => await drain(node, parts, signal),
  async uncordonNode({ node = '' }, { cluster }, signal) {
    await cluster.client.patch(NODES, { name: node }, schedulable(true), { signal })
    return `Pods may come to ${node} again.`
  },
  async breakCalls({ method = '', how = '', times = '' }, { cluster }) {
    breakCalls(driverOf(cluster), { method, how, times: Number(times) })
    return `The next ${times} ${method}: ${how}.`
  },
  async mendCalls(_, { cluster }) {
    driverOf(cluster).faults.clear()
    return 'The driver works again.'
  },
  async killDriver({ seconds = '' }, { cluster, clock, onTrouble }) {
    const driver = driverOf(cluster)
    await driver.crash()
    clock.schedule(Number(seconds) * 1000, () => {
      driver.restart().catch((error: unknown) => onTrouble(`The driver does not come back: ${messageOf(error)}`))
    })
    return `The driver is killed, and comes back in ${seconds} s.`
  },
  async killSidecar({ sidecar = '' }, { cluster }) {
    const running = cluster.sidecars.find((each) => each.sidecar.name === sidecar)
    if (running === undefined) throw new Error(`${sidecar} does not run here.`)
    running.sidecar.kill('SIGKILL')
    return `${sidecar} is killed, and started again as kubelet would.`
  },
  async tellChapter({ number = '' }, { tellTo }) {
    if (tellTo === undefined) throw new Error('There is no story here.')
    tellTo(Number(number))
    return `The story is told up to chapter ${number}.`
  },
}

function driverOf({ emulatedDriver }: Devcluster): NonNullable<Devcluster['emulatedDriver']> {
  if (emulatedDriver === undefined) throw new Error('Only the emulated driver can be broken.')
  return emulatedDriver
}

function inNamespace(key: string): { readonly name: string; readonly namespace: string } {
  return { namespace: NAMES.namespace, ...refOf(key) }
}

async function patchClaim(claim: string, spec: object, { cluster }: DeedParts, signal: AbortSignal): Promise<void> {
  const patch = { kind: 'merge' as const, body: { spec } }
  await cluster.client.patch(PERSISTENT_VOLUME_CLAIMS, inNamespace(claim), patch, { signal })
}

function schedulable(is: boolean): Patch {
  return { kind: 'merge', body: { spec: { unschedulable: is ? null : true } } }
}

/** As `kubectl drain` does, and then as a Deployment does: each pod is made again under another name, on no node yet. */
async function drain(node: string, { cluster }: DeedParts, signal: AbortSignal): Promise<string> {
  const { client, caches } = cluster
  await client.patch(NODES, { name: node }, schedulable(false), { signal })
  const pods = caches.pods.store.byIndex(PODS_BY_NODE, node).filter((pod) => !pod.deleting && !isTerminated(pod))
  for (const { key, name, namespace, volumes } of pods) {
    const claim = volumes.find((volume) => volume.is === 'claim')
    await client.delete(PODS, refOf(key), { signal })
    if (claim?.is !== 'claim' || claim.ephemeral) continue
    const again = nextName(name, (each) => caches.pods.store.get(`${namespace}/${each}`) !== undefined)
    const object = podObject({ pod: again, claim: claim.claim })
    await client.create(PODS, { ...object, metadata: { name: again, namespace } }, { signal })
  }
  return `${node} takes no pods any more; ${pods.length} of them had to go.`
}

/** `app`, `app-2`, `app-3`. */
function nextName(name: string, isTaken: (name: string) => boolean): string {
  const [, stem = name, number = '1'] = /^(.*?)(?:-(\d{1,6}))?$/.exec(name) ?? []
  for (let next = Number(number) + 1; ; next += 1) if (!isTaken(`${stem}-${next}`)) return `${stem}-${next}`
}

import { type Clock, messageOf } from '@csi-sidecars/base'
import type { CsiDriver } from '@csi-sidecars/emulator'
import {
  NODES,
  type Patch,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  refOf,
  STORAGE_CLASSES,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { isTerminated, PODS_BY_NODE } from '@csi-sidecars/volume-controllers'
import type { Devcluster } from '../../cluster/devcluster.ts'
import { ensure } from '../../cluster/register.ts'
import { claimObject, classObject, goldObject, NAMES, podObject } from '../../story/objects.ts'
import { ACTION_NAMES, type ActionName, FAULTS } from '../view/action-table.ts'
import type { PageAction } from './parse.ts'

/** The cluster and the demo that an action of the page changes. */
export interface ActionParts {
  readonly cluster: Devcluster
  readonly clock: Clock
  /** Runs the demo up to a step. The field is undefined if there is no demo. */
  readonly runTo: ((step: number) => void) | undefined
  /** Called if an action fails after its answer was sent to the page. */
  readonly onTrouble: (text: string) => void
}

type Values = PageAction['values']
type Perform = (values: Values, deps: ActionParts, signal: AbortSignal) => Promise<string>

/** Returns the actions that this cluster supports. Faults, for example, need the emulated driver. */
export function actionsOf({ cluster, runTo }: Pick<ActionParts, 'cluster' | 'runTo'>): readonly ActionName[] {
  const { emulatedDriver, sidecars } = cluster
  const lacks = new Set<ActionName>([
    ...(emulatedDriver === undefined ? (['injectFaults', 'clearFaults', 'killDriver'] as const) : []),
    ...(sidecars.length === 0 ? (['killSidecar'] as const) : []),
    ...(runTo === undefined ? (['runStep'] as const) : []),
  ])
  return ACTION_NAMES.filter((name) => !lacks.has(name))
}

/** Performs the action and returns a sentence about it. A refusal by the API server throws its error. */
export function perform({ name, values }: PageAction, deps: ActionParts, signal: AbortSignal): Promise<string> {
  return PERFORM[name](values, deps, signal)
}

const PERFORM: Readonly<Record<ActionName, Perform>> = {
  async createClaim({ name, size = '', class: className = '' }, { cluster }, signal) {
    const { client, driver, connection } = cluster
    if (className === NAMES.storageClass) {
      await ensure({ client, signal }, STORAGE_CLASSES, classObject(driver, connection))
    }
    const claim = claimObject(size, name)
    const { storageClassName: _, ...spec } = { ...claim.spec }
    const object = { ...claim, spec: { ...spec, ...(className !== '' && { storageClassName: className }) } }
    await client.create(PERSISTENT_VOLUME_CLAIMS, object, { signal })
    return `Claim ${name} is created.`
  },
  async createPod({ name = '', claim = '', node = '' }, { cluster }, signal) {
    const object = podObject({ pod: name, claim: refOf(claim).name, ...(node !== '' && { node }) })
    await cluster.client.create(PODS, { ...object, metadata: { ...inNamespace(claim), name } }, { signal })
    return `Pod ${name} is created.`
  },
  async expandClaim({ claim = '', size = '' }, deps, signal) {
    await patchClaim({ claim, spec: { resources: { requests: { storage: size } } } }, deps, signal)
    return `Claim ${claim} asks for ${size}.`
  },
  async changeClass({ claim = '', class: className = '' }, deps, signal) {
    const { client, driver } = deps.cluster
    if (className === NAMES.gold) await ensure({ client, signal }, VOLUME_ATTRIBUTES_CLASSES, goldObject(driver.name))
    await patchClaim({ claim, spec: { volumeAttributesClassName: className } }, deps, signal)
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
  drainNode: async ({ node = '' }, deps, signal) => await drain(node, deps, signal),
  async uncordonNode({ node = '' }, { cluster }, signal) {
    await cluster.client.patch(NODES, { name: node }, schedulable(true), { signal })
    return `${node} is uncordoned.`
  },
  async injectFaults({ method = '', how = '', times = '' }, { cluster }) {
    injectFaults(driverOf(cluster), { method, how, times: Number(times) })
    return `The next ${times} ${method}: ${how}.`
  },
  async clearFaults(_, { cluster }) {
    driverOf(cluster).faults.clear()
    return 'All faults are cleared.'
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
  async runStep({ number = '' }, { runTo }) {
    if (runTo === undefined) throw new Error('There is no story here.')
    runTo(Number(number))
    return `The story runs up to step ${number}.`
  },
}

function driverOf({ emulatedDriver }: Devcluster): NonNullable<Devcluster['emulatedDriver']> {
  if (emulatedDriver === undefined) throw new Error('Faults need the emulated driver.')
  return emulatedDriver
}

function inNamespace(key: string): { readonly name: string; readonly namespace: string } {
  return { namespace: NAMES.namespace, ...refOf(key) }
}

async function patchClaim(
  { claim, spec }: { readonly claim: string; readonly spec: object },
  { cluster }: ActionParts,
  signal: AbortSignal,
): Promise<void> {
  const patch = { kind: 'merge' as const, body: { spec } }
  await cluster.client.patch(PERSISTENT_VOLUME_CLAIMS, inNamespace(claim), patch, { signal })
}

function schedulable(is: boolean): Patch {
  return { kind: 'merge', body: { spec: { unschedulable: is ? null : true } } }
}

/** Drains the node like `kubectl drain`. Then it recreates each pod under another name, as a Deployment does. */
async function drain(node: string, { cluster }: ActionParts, signal: AbortSignal): Promise<string> {
  const { client, caches } = cluster
  await client.patch(NODES, { name: node }, schedulable(false), { signal })
  const pods = caches.pods.store.byIndex(PODS_BY_NODE, node).filter((pod) => !pod.deleting && !isTerminated(pod))
  for (const { key, name, namespace, volumes } of pods) {
    const claim = volumes.find((volume) => volume.kind === 'claim')
    await client.delete(PODS, refOf(key), { signal })
    if (claim?.kind !== 'claim' || claim.ephemeral) continue
    const again = nextName(name, (each) => caches.pods.store.get(`${namespace}/${each}`) !== undefined)
    const object = podObject({ pod: again, claim: claim.claim })
    await client.create(PODS, { ...object, metadata: { name: again, namespace } }, { signal })
  }
  return `${node} is drained; pods moved: ${pods.length}.`
}

/** Returns the next free name in a series such as `app`, `app-2`, `app-3`. */
function nextName(name: string, isTaken: (name: string) => boolean): string {
  const [, stem = name, number = '1'] = /^(.*?)(?:-(\d{1,6}))?$/.exec(name) ?? []
  for (let next = Number(number) + 1; ; next += 1) {
    if (!isTaken(`${stem}-${next}`)) return `${stem}-${next}`
  }
}

interface Fault {
  readonly method: string
  readonly how: string
  readonly times: number
}

type DriverFault = Parameters<CsiDriver['faults']['add']>[0]['action']

const LATER_MS = 3000
const MESSAGE = 'injected on the page'

const ACTIONS: Readonly<Record<(typeof FAULTS)[number], DriverFault>> = {
  'fails with Internal': { kind: 'fail', code: 'INTERNAL', message: MESSAGE },
  'fails with ResourceExhausted': { kind: 'fail', code: 'RESOURCE_EXHAUSTED', message: MESSAGE },
  // UNAVAILABLE is the code that a caller gets when its connection is lost.
  'succeeds, but the answer is lost': {
    kind: 'fail',
    code: 'UNAVAILABLE',
    message: 'the answer was lost',
    applied: true,
  },
  'answers 3 seconds later': { kind: 'delay', ms: LATER_MS },
}

/** Lets the emulated driver answer the next calls of a method with a fault. */
function injectFaults({ faults }: CsiDriver, { method, how, times }: Fault): void {
  const fault = FAULTS.find((fault) => fault === how)
  if (fault === undefined) throw new Error(`There is no fault "${how}".`)
  faults.add({ match: { method }, times, action: ACTIONS[fault] })
}

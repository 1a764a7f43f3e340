import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import { PODS, type Pod } from '@csi-sidecars/kube-types'
import type { Container } from '../../../../charts/tests/manifest.ts'
import { ApiRefusal } from '../../harness/api/api.ts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { FakeDriver } from '../../harness/driver/driver.ts'
import { runToEnd } from '../../harness/process/processes.ts'
import type { Subject } from '../../harness/subject.ts'
import { pause } from '../../harness/waiting.ts'
import { tokenOf } from './rendered.ts'

/** The fields of a container that the kubelet of the test reads. */
interface ContainerSpec extends Omit<Container, 'env'> {
  readonly command?: readonly string[]
  readonly env?: readonly { name: string; value?: string; valueFrom?: { fieldRef?: { fieldPath: string } } }[]
}

interface PodSpec {
  readonly containers: readonly ContainerSpec[]
  readonly serviceAccountName?: string
  readonly restartPolicy?: string
}

const specOf = (pod: Pod): PodSpec => (pod as { spec?: unknown }).spec as PodSpec
const containersOf = (pod: Pod): readonly ContainerSpec[] => specOf(pod).containers
const accountOf = (pod: Pod): string => specOf(pod).serviceAccountName ?? 'default'
/** Reports whether a pod belongs to `helm test`. The program of such a pod ends by itself. */
const runsToEnd = (pod: Pod): boolean => specOf(pod).restartPolicy === 'Never'

interface RunningContainer {
  readonly image: string
  readonly process: RunningSidecar
  /** The URL of the container's probe, which must answer 200. Undefined if the container has no probe. */
  readonly probe: string | undefined
}

interface RunningPod {
  readonly name: string
  readonly containers: readonly RunningContainer[]
  ready: boolean
}

export interface KubeletOptions {
  readonly namespace: string
  /** The path of our program for each sidecar image. A container with any other image is the driver. */
  readonly programs: Readonly<Record<string, string>>
  readonly driver: FakeDriver
}

const SOCKET_VOLUME = 'socket-dir'
const LOOK_EVERY_MS = 100

/**
 * Runs the pods of one namespace like a node, with processes instead of containers. The processes get the arguments of
 * the pod. Only the paths in the socket's volume, the ports and the account's token are replaced.
 *
 * The driver's container is the driver of the test. Pods are ready when their probes succeed. Deleted pods end with
 * SIGTERM.
 */
export class Kubelet implements AsyncDisposable {
  /** Rejects when a pod cannot run, so that a test fails early. */
  readonly failed: Promise<never>
  /** The output of the pods that run to completion, by the name of the pod. */
  readonly printed = new Map<string, string>()
  readonly #t: TestContext
  readonly #options: KubeletOptions
  readonly #pods = new Map<string, RunningPod>()
  readonly #ended: Promise<void>
  #running = true

  constructor(t: TestContext, options: KubeletOptions) {
    this.#t = t
    this.#options = options
    const { promise, reject } = Promise.withResolvers<never>()
    this.failed = promise
    promise.catch(() => undefined)
    this.#ended = this.#run().catch((error: unknown) => reject(new Error('a pod cannot run', { cause: error })))
  }

  /** Returns the images of all running sidecars, sorted. */
  images(): readonly string[] {
    return this.#containers()
      .map(({ image }) => image)
      .sort()
  }

  /** Returns the running sidecars whose image contains this name. */
  sidecars(imageName: string): readonly RunningSidecar[] {
    return this.#containers()
      .filter(({ image }) => image.includes(imageName))
      .map(({ process }) => process)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#running = false
    await this.#ended
    await Promise.all([...this.#pods.values()].map(endPod))
  }

  #containers(): readonly RunningContainer[] {
    return [...this.#pods.values()].flatMap(({ containers }) => containers)
  }

  async #run(): Promise<void> {
    while (this.#running) {
      const pods = await this.#t.api.list(PODS, this.#options.namespace)
      const present = new Set(pods.map(({ metadata }) => metadata?.uid ?? ''))
      const gone = [...this.#pods].filter(([uid]) => !present.has(uid))
      for (const [uid] of gone) this.#pods.delete(uid)
      await Promise.all(gone.map(([, pod]) => endPod(pod)))
      for (const pod of pods) await this.#look(pod)
      await pause(LOOK_EVERY_MS)
    }
  }

  async #look(pod: Pod): Promise<void> {
    const { uid = '', name = '' } = pod.metadata ?? {}
    if (runsToEnd(pod)) return this.#runOnce(pod)
    const running = this.#pods.get(uid) ?? (await this.#start(pod))
    this.#pods.set(uid, running)
    const answers = await Promise.all(running.containers.map(isReady))
    const ready = answers.every(Boolean)
    if (ready === running.ready) return
    running.ready = ready
    const condition = { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: new Date().toISOString() }
    await this.#report(name, { phase: 'Running', conditions: [condition] })
  }

  /** Runs a pod of `helm test`. The exit code of its program determines the phase of the pod. */
  async #runOnce(pod: Pod): Promise<void> {
    const { uid = '', name = '' } = pod.metadata ?? {}
    if (this.#pods.has(uid)) return
    this.#pods.set(uid, { name, containers: [], ready: true })
    const token = await tokenOf(this.#t.api, this.#options.namespace, accountOf(pod))
    const { code, output } = await runContainer(this.#t, containersOf(pod)[0], token)
    this.printed.set(name, output)
    await this.#report(name, { phase: code === 0 ? 'Succeeded' : 'Failed' })
  }

  async #report(name: string, status: object): Promise<void> {
    const ref = { namespace: this.#options.namespace, name, subresource: 'status' }
    try {
      await this.#t.api.merge(PODS, ref, { status })
    } catch (error) {
      // The pod was deleted before its status was written. The next pass of the loop ends the pod's processes.
      if (!(error instanceof ApiRefusal && error.code === 404)) throw error
    }
  }

  async #start(pod: Pod): Promise<RunningPod> {
    const { programs } = this.#options
    const name = pod.metadata?.name ?? ''
    const started = containersOf(pod)
      .filter(({ image }) => image in programs)
      .map((container) => this.#startContainer(container, name, accountOf(pod)))
    return { name, containers: await Promise.all(started), ready: false }
  }

  async #startContainer(container: ContainerSpec, pod: string, account: string): Promise<RunningContainer> {
    const { namespace, programs } = this.#options
    const token = await tokenOf(this.#t.api, namespace, account)
    const gate = await this.#t.gate()
    const ports = new Map<number, number>()
    for (const { containerPort } of container.ports ?? []) ports.set(containerPort, await freePort())
    const env = Object.fromEntries((container.env ?? []).map((each) => [each.name, variableOf(each, namespace, pod)]))
    const args = (container.args ?? []).map((argument) => this.#onThisMachine(argument, { container, env, ports }))
    const process = await this.#t.sidecar({
      app: appOf(container.image),
      binary: programs[container.image] ?? '',
      gate,
      user: { name: `system:serviceaccount:${namespace}:${account}`, token },
      bareArgs: [...args, `--kubeconfig=${this.#t.kubeconfig(gate.url, token)}`],
      env,
      hostname: pod,
    })
    return { image: container.image, process, probe: probeUrl(container, ports) }
  }

  #onThisMachine(
    argument: string,
    { container, env, ports }: { container: ContainerSpec; env: Record<string, string>; ports: Map<number, number> },
  ): string {
    const expanded = argument.replace(/\$\((\w+)\)/g, (whole, name: string) => env[name] ?? whole)
    const port = /^--http-endpoint=:(\d+)$/.exec(expanded)?.[1]
    if (port !== undefined) return `--http-endpoint=127.0.0.1:${ports.get(Number(port)) ?? port}`
    const mount = container.volumeMounts?.find(({ name }) => name === SOCKET_VOLUME)
    return mount === undefined ? expanded : expanded.replace(`=${mount.mountPath}/`, `=${this.#socketFolder()}/`)
  }

  /** Returns a folder that contains the driver's socket under the usual name `csi.sock`. */
  #socketFolder(): string {
    const folder = join(this.#t.folder, 'csi')
    mkdirSync(folder, { recursive: true })
    const link = join(folder, 'csi.sock')
    if (!existsSync(link)) symlinkSync(join('..', basename(this.#options.driver.socket)), link)
    return folder
  }
}

function appOf(image: string): Subject {
  if (image.includes('/csi-sidecars:')) return 'both'
  return image.includes('/csi-attacher:') ? 'attacher' : 'resizer'
}

function variableOf(
  { value = '', valueFrom }: NonNullable<ContainerSpec['env']>[number],
  namespace: string,
  pod: string,
): string {
  const fields: Readonly<Record<string, string>> = { 'metadata.namespace': namespace, 'metadata.name': pod }
  return fields[valueFrom?.fieldRef?.fieldPath ?? ''] ?? value
}

function probeUrl({ readinessProbe, ports = [] }: ContainerSpec, real: Map<number, number>): string | undefined {
  if (readinessProbe === undefined) return undefined
  const { path, port } = readinessProbe.httpGet
  const number = ports.find(({ name }) => name === port)?.containerPort ?? Number(port)
  return `http://127.0.0.1:${real.get(number)}${path}`
}

async function isReady({ process, probe }: RunningContainer): Promise<boolean> {
  if (process.exit !== undefined) {
    throw new Error(`${process.args.join(' ')} ended with ${JSON.stringify(process.exit)}:\n${process.stderr}`)
  }
  if (probe === undefined) return true
  try {
    return (await fetch(probe)).ok
  } catch {
    return false // nothing listens yet
  }
}

async function endPod({ containers }: RunningPod): Promise<void> {
  for (const { process } of containers) process.signal('SIGTERM')
  await Promise.all(containers.map(({ process }) => process.end(30_000)))
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
/** The path of Node.js in our images. */
const NODE = '/bin/node'

/** Runs the program of a container to its end, with Node.js and the token of a service account. */
async function runContainer(
  t: TestContext,
  container: ContainerSpec | undefined,
  token: string,
): Promise<{ code: number | null; output: string }> {
  const { command = [], args = [], env = [] } = container ?? {}
  if (command.join() !== NODE) throw new Error(`this kubelet runs ${NODE}, not ${command.join(' ')}`)
  const folder = join(t.folder, basename(ACCOUNT))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'token'), token)
  writeFileSync(join(folder, 'ca.crt'), t.cluster.ca)
  const { hostname, port } = new URL(t.cluster.url)
  return runToEnd(process.execPath, args, {
    env: {
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
      ...Object.fromEntries(env.map(({ name, value = '' }) => [name, value.replace(ACCOUNT, folder)])),
    },
  })
}

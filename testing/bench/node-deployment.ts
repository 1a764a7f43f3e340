// Measures the cost of --node-deployment: the load of an API server that 100 instances watch, and the memory of one
// instance among volumes of other nodes. `node_modules/.bin/node testing/bench/node-deployment.ts` takes 6 minutes on a
// real kube-apiserver.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { join, resolve } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import {
  CSI_NODES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type Resource,
  resourcePath,
} from '@csi-sidecars/kube-types'
import { csiNode } from '../e2e/harness/api/objects.ts'
import { kubeconfigOf } from '../e2e/harness/context.ts'
import type { Driver } from '../e2e/harness/driver/driver.ts'
import { stop, temporaryFolder } from '../e2e/harness/process/processes.ts'
import { Sidecar } from '../e2e/harness/process/sidecar.ts'
import { pause } from '../e2e/harness/waiting.ts'
import { controlPlaneFolder, executablesOf } from '../e2e/tools/binaries.ts'
import { type Cost, costOf } from './process-cost.ts'
import { makeCopies } from './upstream/copies.ts'
import { Ground } from './upstream/ground.ts'
import { bound, growing } from './upstream/objects.ts'

const DRIVER = 'node.example.com'
const KEY = 'node.example.com/node'
const NODES_COUNT = 100
const VOLUMES = 2_000
const FOREIGN = 10_000
const STEADY_MS = 20_000
const SETTLED_MS = 25_000
/** Changes a second: a Node every ten seconds each, and claims of all namespaces. */
const NODE_CHANGES = 10
const CLAIM_CHANGES = 20

const WATCH = 'watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
const PROTOBUF = 'application/vnd.kubernetes.protobuf;type=watch'
const METADATA = `application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1;type=watch`

interface Watched {
  readonly resource: Resource<unknown>
  /** Reads only the object of the instance's node. */
  readonly own?: boolean
  readonly accept?: string
}

const VOLUMES_AND_CLAIMS: readonly Watched[] = [
  { resource: PERSISTENT_VOLUMES },
  { resource: PERSISTENT_VOLUME_CLAIMS },
]
const VARIANTS: Readonly<Record<string, readonly Watched[]>> = {
  'no watch': [],
  'volumes and claims': VOLUMES_AND_CLAIMS,
  'and Node and CSINode, by a field selector': [
    ...VOLUMES_AND_CLAIMS,
    { resource: NODES, own: true },
    { resource: CSI_NODES, own: true },
  ],
  'and all Nodes and CSINodes': [...VOLUMES_AND_CLAIMS, { resource: NODES }, { resource: CSI_NODES }],
  'metadata of volumes and claims': VOLUMES_AND_CLAIMS.map((watched) => ({ ...watched, accept: METADATA })),
}

const root = resolve(import.meta.dirname, '../..')
const executables = { ours: executablesOf(root, 'ours'), original: executablesOf(root, 'ours') }
const logs = join(root, '.cache/bench/node-deployment')
const ground = await Ground.open({ binaries: controlPlaneFolder(root), executables, logs })
async function main(): Promise<void> {
  const driver = await ground.driver(DRIVER)
  await growing(ground, DRIVER)
  await ground.each(NODES_COUNT, createNode)
  printLine('memory of one instance (MiB): resident, anonymous, most')
  sayMemory('with --node-deployment, no volume', await memoryOf(driver, true))
  sayMemory('without, no volume', await memoryOf(driver, false))
  await bound(ground, DRIVER, { name: 'v-0', pv: { nodeAffinity: affinityOf(1) } })
  await copies(1, VOLUMES - 1)
  for (const [name, watches] of Object.entries(VARIANTS)) await load(name, watches)
  await copies(VOLUMES, FOREIGN - VOLUMES)
  sayMemory(`with --node-deployment, ${FOREIGN} volumes of another node and their claims`, await memoryOf(driver, true))
  sayMemory(`without, ${FOREIGN} volumes and their claims`, await memoryOf(driver, false))
}

/** About as large as that of a real node, which lists its images. */
async function createNode(index: number): Promise<void> {
  const name = nodeName(index)
  const labels = { [KEY]: name, 'kubernetes.io/hostname': name }
  await ground.api.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } })
  const images = Array.from({ length: 40 }, (_, image) => ({
    names: [`registry.example.com/team-${image}/application-${image}@sha256:${'0123456789abcdef'.repeat(4)}`],
    sizeBytes: 100_000_000 + image,
  }))
  await ground.api.merge(NODES, { name, subresource: 'status' }, { status: { images } })
  await ground.api.create(CSI_NODES, csiNode(name, { [DRIVER]: name }, [KEY]))
}

function nodeName(index: number): string {
  return `node-${index}`
}

function affinityOf(index: number): object {
  const matchExpressions = [{ key: KEY, operator: 'In', values: [nodeName(index)] }]
  return { required: { nodeSelectorTerms: [{ matchExpressions }] } }
}

async function copies(from: number, count: number): Promise<void> {
  const originals = [
    { resource: PERSISTENT_VOLUMES, name: 'v-0' },
    { resource: PERSISTENT_VOLUME_CLAIMS, namespace: 'default', name: 'v-0' },
  ]
  await makeCopies(ground, { originals, count, from, rename: (text, number) => text.replaceAll('v-0', `v-${number}`) })
}

/** The cost of one process on the first node, which has no volume. */
async function memoryOf(driver: Driver, onNode: boolean): Promise<Cost> {
  const { url, ca, adminToken } = ground.cluster
  const kubeconfig = join(temporaryFolder('bench'), 'kubeconfig')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url, ca, { token: adminToken })))
  const own = onNode ? ['--node-deployment', `--node-name=${nodeName(0)}`] : []
  const sidecar = new Sidecar({
    binary: executables.ours.resizer,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--csi-address=${driver.socket}`,
      `--http-endpoint=127.0.0.1:${await freePort()}`,
      ...own,
    ],
    env: { MALLOC_ARENA_MAX: '1' },
  })
  try {
    await sidecar.line('Starting external resizer')
    await pause(SETTLED_MS)
    return costOf(sidecar.pid)
  } finally {
    await stop(sidecar.process)
  }
}

/** One connection for each instance, as processes have; nothing is decoded. */
class Instance {
  bytes = 0
  heardAt = performance.now()
  readonly #session: ClientHttp2Session

  constructor(index: number, watches: readonly Watched[]) {
    const { url, ca, adminToken } = ground.cluster
    this.#session = connect(url, { ca, settings: { initialWindowSize: 1 << 24 } })
    this.#session.on('error', (error) => printLine(`a connection failed: ${error.message}`))
    for (const { resource, own, accept = PROTOBUF } of watches) {
      const selector = own === true ? `&fieldSelector=${encodeURIComponent(`metadata.name=${nodeName(index)}`)}` : ''
      const path = `${resourcePath(resource, {})}?${WATCH}${selector}`
      const stream = this.#session.request({ ':path': path, authorization: `Bearer ${adminToken}`, accept })
      stream.on('response', ({ ':status': status }) => {
        if (status !== 200) printLine(`${path}: ${status}`)
      })
      stream.on('error', (error) => printLine(`${path}: ${error.message}`))
      stream.on('data', (chunk: Buffer) => {
        this.bytes += chunk.length
        this.heardAt = performance.now()
      })
    }
  }

  close(): void {
    this.#session.destroy()
  }
}

/** The server's CPU time for the first lists of all instances, and for a while of changes. */
async function load(name: string, watches: readonly Watched[]): Promise<void> {
  const server = serverPid()
  const before = costOf(server)
  const instances = watches.length === 0 ? [] : Array.from({ length: NODES_COUNT }, (_, i) => new Instance(i, watches))
  try {
    const total = (): number => instances.reduce((sum, { bytes }) => sum + bytes, 0)
    do await pause(2_000)
    while (instances.some(({ heardAt }) => performance.now() - heardAt < 2_000))
    const [listed, listBytes] = [costOf(server), total()]
    const writes = await change(STEADY_MS)
    const after = costOf(server)
    printLine(
      [
        `${name}:`,
        `first lists ${(listed.cpuSeconds - before.cpuSeconds).toFixed(2)} s CPU, ${mib(listBytes)} MiB;`,
        `${writes} changes in ${STEADY_MS / 1000} s: ${(after.cpuSeconds - listed.cpuSeconds).toFixed(2)} s CPU,`,
        `${mib(total() - listBytes)} MiB; server ${after.rss.toFixed(0)} MiB`,
      ].join(' '),
    )
  } finally {
    for (const instance of instances) instance.close()
  }
  await pause(3_000)
}

/** Writes at the rates above; returns how many. */
async function change(ms: number): Promise<number> {
  let writes = 0
  const end = performance.now() + ms
  const at = async (aSecond: number, write: (count: number) => Promise<unknown>): Promise<void> => {
    const from = performance.now()
    for (let count = 0; performance.now() < end; count += 1) {
      await write(count)
      writes += 1
      await pause(Math.max(0, from + ((count + 1) * 1000) / aSecond - performance.now()))
    }
  }
  const node = (count: number): Promise<unknown> => {
    const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() }]
    const name = nodeName(count % NODES_COUNT)
    return ground.api.merge(NODES, { name, subresource: 'status' }, { status: { conditions } })
  }
  const claim = (count: number): Promise<unknown> =>
    ground.api.merge(
      PERSISTENT_VOLUME_CLAIMS,
      { namespace: 'default', name: `v-${count % VOLUMES}` },
      { metadata: { annotations: { changed: `${Date.now()}` } } },
    )
  await Promise.all([at(NODE_CHANGES, node), at(CLAIM_CHANGES, claim)])
  return writes
}

function serverPid(): number {
  const { port } = new URL(ground.cluster.url)
  const isServer = (pid: string): boolean => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      return command.includes('kube-apiserver') && command.includes(`--secure-port=${port}`)
    } catch {
      return false // the process has ended
    }
  }
  const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && isServer(name))
  if (pid === undefined) throw new Error('the API server is not running')
  return Number(pid)
}

function sayMemory(what: string, { rss, anonymous, peak }: Cost): void {
  printLine(`  ${what}: ${rss.toFixed(1)}, ${anonymous.toFixed(1)}, ${peak.toFixed(1)}`)
}

function mib(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(1)
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`)
}

try {
  await main()
} finally {
  await ground[Symbol.asyncDispose]()
}

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { imageNames } from '../build/image-names.ts'
import { provideImages } from '../build/images.ts'
import { lacksPrograms, providePrograms } from '../build/programs.ts'
import { DEFAULT_VERSION, type DriverChoice, type KubernetesVersion, type NodeSettings } from '../command/options.ts'
import { RefusedError } from '../command/refusal.ts'
import { createCgroups, emptyRoot, type Hierarchies, nodeCgroups, processCgroups } from '../machine/cgroups.ts'
import { checkForStart } from '../machine/checks.ts'
import { FOLDERS } from '../machine/folders.ts'
import { tryInside } from '../machine/inside.ts'
import { endProcesses, KUBELET_FOLDER, KUBELET_FOLDER_MARK, removeNode } from '../machine/leftovers.ts'
import { type NodeRecord, runningNode, startTimeOf, writeRecord } from '../machine/record.ts'
import { until } from '../machine/until.ts'
import { NODE_NAME, writeConfiguration } from './configuration.ts'
import { endOfLog, type Service, startService } from './services.ts'

const PROCESS_ONE = join(import.meta.dirname, 'process-one.sh')
/** The part of a busy machine that the node gets. 1024 is the part of any other cgroup. */
const CPU_SHARES = 16_384

export type Print = (line: string) => void

/** Starts a node, after it has built what is missing. Removes a node that was killed or whose start was interrupted. */
export async function up(settings: NodeSettings, print: Print): Promise<NodeRecord> {
  if (runningNode()?.isReady === true) throw new RefusedError('a node runs already: npm run node -- down')
  const { kubernetes = DEFAULT_VERSION, driver = { kind: 'ours' } } = settings
  const found = checkForStart(lacksPrograms(kubernetes))
  await removeNode()
  providePrograms(kubernetes, print)
  await provideImages(kubernetes, driver, print)
  mkdirSync(FOLDERS.state, { recursive: true })
  writeConfiguration()
  writeImageNames(kubernetes, 'go')
  return await start(found, { kubernetes, driver: driver.kind }, print)
}

/** Writes which images the names of the Go sidecars mean. The registry reads it at each request. */
export function writeImageNames(kubernetes: KubernetesVersion, asUpstream: 'go' | 'ours'): void {
  writeFileSync(join(FOLDERS.state, 'images.json'), JSON.stringify(imageNames(kubernetes, asUpstream)))
}

/** Ends all processes of a node as a power failure does, and starts it again with its etcd and its disks. */
export async function restartNode(node: NodeRecord, print: Print): Promise<NodeRecord> {
  await endProcesses()
  return await start(checkForStart(false), node, print)
}

interface NodeKind {
  readonly kubernetes: KubernetesVersion
  readonly driver: DriverChoice['kind']
}

async function start(found: Hierarchies, { kubernetes, driver }: NodeKind, print: Print): Promise<NodeRecord> {
  createCgroups(found, Number(process.env['NODE_CPU_SHARES'] ?? CPU_SHARES))
  if (!existsSync(KUBELET_FOLDER)) {
    writeFileSync(KUBELET_FOLDER_MARK, '')
    mkdirSync(KUBELET_FOLDER)
  }
  const pid = await startProcessOne(found)
  const startTime = startTimeOf(pid)
  if (startTime === undefined) throw new Error(`process 1 of the node has ended: ${processOneLog()}`)
  const node: NodeRecord = { pid, startTime, cgroups: processCgroups(found), kubernetes, driver, isReady: false }
  writeRecord(node)
  emptyRoot(found)
  await startServices(node)
  print('the node is ready')
  const ready = { ...node, isReady: true }
  writeRecord(ready)
  return ready
}

/** Starts process 1 in new namespaces, and returns its ID. It survives this program. */
async function startProcessOne(found: Hierarchies): Promise<number> {
  const mounted = join(FOLDERS.state, 'mounted')
  rmSync(mounted, { force: true })
  writeFileSync(join(FOLDERS.state, 'log', 'process-one'), '')
  const log = openSync(join(FOLDERS.state, 'log', 'process-one'), 'a')
  const hierarchies = found.kind === 'v2' ? ['v2'] : ['v1', ...found.folders.map(({ options }) => options)]
  const namespaces = ['--net', '--mount', '--pid', '--cgroup', '--uts', '--ipc', '--fork', '--kill-child']
  const command = ['unshare', ...namespaces, PROCESS_ONE, FOLDERS.state, NODE_NAME, ...hierarchies]
  const script = 'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs"; shift; done; shift; exec "$@"'
  const child = spawn('sh', ['-c', script, 'sh', ...nodeCgroups(found), '--', ...command], {
    stdio: ['ignore', log, log],
    detached: true,
  })
  child.unref()
  const unshare = child.pid ?? 0
  const ended = (): boolean => startTimeOf(unshare) === undefined
  await until('process 1 of the node', () => existsSync(mounted) || ended(), { seconds: 30, everyMs: 50 })
  if (ended()) throw new Error(`process 1 of the node has ended: ${processOneLog()}`)
  return Number(readFileSync(`/proc/${unshare}/task/${unshare}/children`, 'utf8').trim())
}

const processOneLog = (): string => readFileSync(join(FOLDERS.state, 'log', 'process-one'), 'utf8').trim()

async function startServices(node: NodeRecord): Promise<void> {
  const answers =
    (...command: readonly string[]) =>
    (): boolean =>
      tryInside(node, command).status === 0
  const ready = async (service: Service, check: () => boolean): Promise<void> =>
    until(`ready ${service}`, check, { diagnose: () => endOfLog(service) })
  startService(node, 'etcd')
  startService(node, 'registry')
  startService(node, 'containerd')
  startService(node, 'kube-apiserver')
  await ready('kube-apiserver', answers('kubectl', 'get', '--raw', '/readyz'))
  startService(node, 'kube-controller-manager')
  startService(node, 'kube-scheduler')
  await startKubelet(node)
}

/** Starts the kubelet and waits until the node is ready. */
export async function startKubelet(node: NodeRecord): Promise<void> {
  startService(node, 'kubelet')
  const jsonPath = '{.status.conditions[?(@.type=="Ready")].status}'
  const isReady = (): boolean =>
    tryInside(node, ['kubectl', 'get', 'node', NODE_NAME, '-o', `jsonpath=${jsonPath}`]).stdout === 'True'
  await until('ready node', isReady, { diagnose: () => endOfLog('kubelet') })
}

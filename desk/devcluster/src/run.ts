import { mkdir, mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { aborted, type Clock, isAbort, messageOf } from '@csi-sidecars/base'
import { DEFAULT_SETTINGS } from '@csi-sidecars/emulator'
import type { Logger } from '@csi-sidecars/telemetry'
import { sidecarBinaries } from './cluster/binaries.ts'
import { type Devcluster, startDevcluster } from './cluster/devcluster.ts'
import type { Options } from './options.ts'
import { type Page, startPage } from './page/page.ts'
import { exampleFile } from './story/objects.ts'
import type { Ending } from './story/run-steps.ts'
import { StoryScenario } from './story/scenario.ts'
import type { Style } from './terminal/printer.ts'
import { storyPrinter } from './terminal/printer.ts'

/** The output of the program. */
export interface Terminal {
  readonly write: (text: string) => void
  readonly style: Style
  /** True in a terminal. The cluster then stays up after the demo, so that the user can try it. */
  readonly interactive: boolean
}

/** The parts of the process that a run of the demo uses. */
export interface RunParts {
  readonly terminal: Terminal
  readonly clock: Clock
  /** Opens the log file for the client, the driver connection and the controllers of this process. */
  readonly openLog: (file: string) => Logger
}

/** The exit code of an interrupted run, which has neither succeeded nor failed. */
const INTERRUPTED = 130

/** The pause before each step of the demo in a terminal. Without pauses the demo takes less than a second. */
const TERMINAL_PAUSE_MS = 1000

/** The capabilities for snapshots and clones, which the emulated driver does not have by default. */
const COPYING = ['CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS', 'CLONE_VOLUME'] as const

/** Starts the cluster and runs the demo. In a terminal, waits for the signal after the demo. Returns the exit code. */
export async function run(options: Options, deps: RunParts, signal: AbortSignal): Promise<number> {
  const { write, style } = deps.terminal
  if (options.data !== undefined) await checkDataFolder(resolve(options.data))
  const directory = await mkdtemp(join(tmpdir(), 'csi-devcluster-'))
  let code = 1
  const mounted = new Set<string>()
  try {
    const log = deps.openLog(join(directory, 'devcluster.log'))
    const liveParts = { ...deps, directory, log, mounted, troubled: new Set<(message: string) => void>() }
    code = await runCluster(options, liveParts, signal)
  } catch (error) {
    if (signal.aborted && isAbort(error)) code = INTERRUPTED
    else write(`${style.bad('Failed:')} ${messageOf(error)}\n`)
  }
  // The folder must not be removed while a volume is mounted in it, because this would remove the files of the volume.
  for (const path of mounted) write(`${style.bad('Still mounted:')} ${path}\n`)
  if (code !== 1 && mounted.size === 0) await rm(directory, { recursive: true, force: true })
  else write(`What was logged is in ${directory}\n`)
  return code
}

async function runCluster(options: Options, deps: LiveParts, signal: AbortSignal): Promise<number> {
  const cluster = await start(options, deps, signal)
  try {
    return await useCluster(options, { ...deps, cluster }, signal)
  } finally {
    await cluster.stop()
    for (const path of options.driver === undefined ? [] : cluster.mounted()) deps.mounted.add(path)
  }
}

async function start(
  options: Options,
  { terminal, clock, log, directory, troubled }: LiveParts,
  signal: AbortSignal,
): Promise<Devcluster> {
  const { write, style } = terminal
  troubled.add((message) => write(`${style.bad('!')} ${message}\n`))
  return await startDevcluster(
    {
      nodes: options.nodes,
      controllers: options.controllers,
      kubernetesMinor: options.kubernetesMinor,
      kubeconfig: options.kubeconfig,
      driver: options.driver,
      driverSettings: { controller: [...DEFAULT_SETTINGS.controller, ...COPYING] },
      binaries: await sidecarBinaries(options.binaries),
      // Another provisioner may refuse the flag, and another driver the parameter of the StorageClass.
      hasParameterTemplates: options.binaries.provisioner === undefined && options.driver === undefined,
      data: dataFolder(options, directory),
      directory,
      clock,
      log,
      onTrouble: (message) => troubled.forEach((report) => void report(message)),
    },
    signal,
  )
}

/** Returns the folder for mounts. Without `--data`, a folder is needed only if the driver really mounts. */
function dataFolder({ data, driver }: Options, directory: string): string | undefined {
  if (data !== undefined) return resolve(data)
  return driver === undefined ? undefined : join(directory, 'nodes')
}

interface LiveParts extends RunParts {
  readonly directory: string
  readonly log: Logger
  /** The paths at which the user's own driver still has volumes mounted when the cluster has stopped. */
  readonly mounted: Set<string>
  /** Functions to call with a message when a component ends unexpectedly. */
  readonly troubled: Set<(message: string) => void>
}

interface ClusterParts extends LiveParts {
  readonly cluster: Devcluster
}

/** Runs the demo, and waits for the signal if the cluster stays up. Returns the exit code. */
async function useCluster(options: Options, deps: ClusterParts, signal: AbortSignal): Promise<number> {
  const { cluster, terminal, clock } = deps
  const { write, style } = terminal
  const { driver, nodeNames } = cluster
  const stays = terminal.interactive && !options.exit
  const driverName = options.driver === undefined ? 'emulated' : options.driver
  write(
    `A cluster of ${nodeNames.length} node${nodeNames.length > 1 ? 's' : ''} with driver ${driver.name} (${driverName})\n`,
  )
  const { timeoutMs: stepMs, pauseMs = terminal.interactive ? TERMINAL_PAUSE_MS : 0, pagePort: port } = options
  // The demo leaves no pod if the driver or the API server is real, because the pod would outlive the program.
  const leavesPod = stays && cluster.api !== undefined && cluster.emulatedDriver !== undefined
  const story = new StoryScenario({ cluster, clock, stepMs, pauseMs, leavesPod })
  await using page = await startPage({ cluster, clock, log: deps.log, port, story })
  deps.troubled.add((message) => page.trouble(message))
  write(`  Watch it at ${page.url}\n`)
  const started = clock.monotonic()
  const ending = await runStory(story, terminal, signal)
  const pausesMs = story.steps.length * pauseMs
  const seconds = ((clock.monotonic() - started - pausesMs) / 1000).toFixed(1)
  if (ending.kind === 'failed') {
    write(`\n${style.bad('Not true:')} ${ending.expected}\n  in the step "${ending.step}"\n`)
    for (const line of ending.refusals) write(`  the driver: ${line}\n`)
  } else {
    write(`\n${style.good('All of it came true')} in ${seconds} s${pausesMs > 0 ? ', pauses left out' : ''}.\n`)
  }
  if (stays) {
    await showHow(page, deps)
    await aborted(signal)
    write('\nStopping.\n')
  }
  return ending.kind === 'succeeded' ? 0 : 1
}

async function runStory(story: StoryScenario, { write, style }: Terminal, signal: AbortSignal): Promise<Ending> {
  for (const { title, why } of story.leftOut) write(`Left out: "${title}", since ${why}\n`)
  story.addPrinter(storyPrinter(write, style))
  return await story.runAll(signal)
}

/** Prints commands to look at the cluster and to create objects in it. */
async function showHow(page: Page, { cluster, terminal, directory }: ClusterParts): Promise<void> {
  const { write, style } = terminal
  const line = (label: string, text: string): void => write(`  ${style.bold(label.padEnd(14))}${text}\n`)
  const example = join(directory, 'app.yaml')
  await writeFile(example, exampleFile())
  write('\nThe cluster stays up; Ctrl-C ends it.\n\n')
  write(`  export KUBECONFIG=${cluster.kubeconfig}\n`)
  write('  kubectl get pods,pvc,pv,volumeattachments\n')
  write(`  kubectl create -f ${example}\n\n`)
  for (const { sidecar, address } of cluster.sidecars) {
    line(sidecar.name, `http://${address}/metrics`)
    line('', `http://${address}/readyz  /livez`)
  }
  line('page', page.url)
  line('logs', join(directory, '*.log'))
}

/** Checks that folders can be created in the folder of `--data`, so that an error comes before the first mount. */
export async function checkDataFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    await rmdir(await mkdtemp(join(folder, '.devcluster-')))
  } catch (error) {
    throw new Error(`--data ${folder} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}

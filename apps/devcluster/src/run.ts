import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { aborted, type Clock, isAbort, messageOf } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import { runSeeds } from './chaos/seeds.ts'
import { sidecarBinaries } from './cluster/binaries.ts'
import { checkDataFolder } from './cluster/data-folder.ts'
import { type Devcluster, startDevcluster } from './cluster/devcluster.ts'
import { runStorm } from './load/storm.ts'
import type { Chaos, Load, Options } from './options.ts'
import { chaosPages } from './page/chaos-page.ts'
import { type Page, startPage } from './page/page.ts'
import { exampleFile } from './story/objects.ts'
import type { Ending } from './story/play.ts'
import { Stage } from './story/stage.ts'
import type { Style } from './terminal/style.ts'
import { storyTeller } from './terminal/teller.ts'

/** Where a run tells its story. */
export interface Terminal {
  readonly write: (text: string) => void
  readonly style: Style
  /** Somebody is there to look at the cluster once the story is over. */
  readonly interactive: boolean
}

export interface RunParts {
  readonly terminal: Terminal
  readonly clock: Clock
  /** Opens the log of the cluster's own half. */
  readonly openLog: (file: string) => Logger
}

/** Of a run that somebody has ended before the story was over: neither true nor untrue. */
const INTERRUPTED = 130

/** Starts the cluster, plays the story, and stays until the signal if somebody is there. Returns the exit code. */
export async function run(options: Options, parts: RunParts, signal: AbortSignal): Promise<number> {
  const { write, style } = parts.terminal
  if (options.data !== undefined) await checkDataFolder(resolve(options.data))
  const directory = await mkdtemp(join(tmpdir(), 'csi-devcluster-'))
  let code = 1
  const mounted = new Set<string>()
  try {
    const log = parts.openLog(join(directory, 'devcluster.log'))
    const liveParts = { ...parts, directory, log, mounted, troubled: new Set<(message: string) => void>() }
    code =
      options.chaos === undefined
        ? await runCluster(options, liveParts, signal)
        : await breakThings(options, options.chaos, liveParts, signal)
  } catch (error) {
    if (signal.aborted && isAbort(error)) code = INTERRUPTED
    else write(`${style.bad('Failed:')} ${messageOf(error)}\n`)
  }
  // Whatever removes a folder with a mount in it removes what is mounted there.
  for (const path of mounted) write(`${style.bad('Still mounted:')} ${path}\n`)
  if (code !== 1 && mounted.size === 0) await rm(directory, { recursive: true, force: true })
  else write(`What was logged is in ${directory}\n`)
  return code
}

async function runCluster(options: Options, parts: LiveParts, signal: AbortSignal): Promise<number> {
  const cluster = await start(options, parts, signal)
  try {
    return await live(cluster, options, parts, signal)
  } finally {
    await cluster.stop()
    for (const path of options.driver === undefined ? [] : cluster.mounted()) parts.mounted.add(path)
  }
}

async function breakThings(options: Options, chaos: Chaos, parts: LiveParts, signal: AbortSignal): Promise<number> {
  const { clock, log, directory, terminal } = parts
  const cluster = { nodes: Math.max(options.nodes, 3), ...(await sidecarBinaries(options)), clock, log }
  const { seeds, seconds } = chaos
  const { write } = terminal
  const show = chaosPages({
    clock,
    log,
    port: options.pagePort,
    onUrl: (url) => terminal.interactive && write(`  Watch it at ${url}\n`),
  })
  const good = await runSeeds({ seeds, durationMs: seconds * 1000, cluster, directory, clock, write, show }, signal)
  return good ? 0 : 1
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
      kubeconfig: options.kubeconfig,
      driver: options.driver,
      ...(await sidecarBinaries(options)),
      data: dataFolder(options, directory),
      directory,
      clock,
      log,
      onTrouble: (message) => troubled.forEach((tell) => void tell(message)),
    },
    signal,
  )
}

/** A person's own driver really mounts, so it needs real directories; the emulated one keeps account only. */
function dataFolder({ data, driver }: Options, directory: string): string | undefined {
  if (data !== undefined) return resolve(data)
  return driver === undefined ? undefined : join(directory, 'nodes')
}

interface LiveParts extends RunParts {
  readonly directory: string
  readonly log: Logger
  /** What a person's own driver has still mounted at the end. */
  readonly mounted: Set<string>
  /** Who is told when something has ended that should not have. */
  readonly troubled: Set<(message: string) => void>
}

/** The cluster's time from its start to its end. */
async function live(cluster: Devcluster, options: Options, parts: LiveParts, signal: AbortSignal): Promise<number> {
  const { terminal, clock } = parts
  const { write, style } = terminal
  const { driver, nodeNames } = cluster
  const stays = terminal.interactive && !options.exit
  const own = options.driver === undefined ? 'emulated' : options.driver
  write(`A cluster of ${nodeNames.length} node${nodeNames.length > 1 ? 's' : ''} with driver ${driver.name} (${own})\n`)
  const { patienceMs: chapterMs, pauseMs, pagePort: port } = options
  const story = new Stage({ cluster, clock, chapterMs, pauseMs })
  await using page = await startPage({ cluster, clock, log: parts.log, port, story })
  parts.troubled.add((message) => page.trouble(message))
  if (stays) write(`  Watch it at ${page.url}\n`)
  const started = clock.monotonic()
  const ending = await tellStory(story, terminal, signal)
  const seconds = ((clock.monotonic() - started) / 1000).toFixed(1)
  if (ending.is === 'untrue') {
    write(`\n${style.bad('Not true:')} ${ending.what}\n  in the chapter "${ending.chapter}"\n`)
    for (const line of ending.refusals) write(`  the driver: ${line}\n`)
  } else {
    write(`\n${style.good('All of it came true')} in ${seconds} s.\n`)
  }
  if (ending.is === 'true' && options.load !== undefined) await runLoad(cluster, options.load, parts, signal)
  if (stays) {
    await showHow(cluster, page, parts)
    await aborted(signal)
    write('\nStopping.\n')
  }
  return ending.is === 'true' ? 0 : 1
}

async function tellStory(story: Stage, { write, style }: Terminal, signal: AbortSignal): Promise<Ending> {
  for (const { title, why } of story.leftOut) write(`Left out: "${title}", since ${why}\n`)
  story.tellTo(storyTeller(write, style))
  return await story.playAll(signal)
}

async function runLoad(
  cluster: Devcluster,
  { attach: pods }: Load,
  { terminal, clock }: LiveParts,
  signal: AbortSignal,
): Promise<void> {
  const { write, style } = terminal
  write(`\n${style.bold(`A storm of ${pods} pods with a volume each on ${cluster.nodeNames.length} nodes`)}\n`)
  const onProgress = (done: number, what: string): void => write(`  ${done} ${what}\n`)
  const before = cluster.api?.requests.total
  const { runningMs, goneMs } = await runStorm(cluster, { pods, clock, onProgress }, signal)
  write(`  all running after ${(runningMs / 1000).toFixed(1)} s, all gone after ${(goneMs / 1000).toFixed(1)} s more\n`)
  if (cluster.api === undefined || before === undefined) return
  const requests = cluster.api.requests.total - before
  write(`  ${requests} API requests, ${(requests / pods).toFixed(1)} for each pod and volume\n`)
}

/** How to look at what is there, and how to begin with something of one's own. */
async function showHow(cluster: Devcluster, page: Page, { terminal, directory }: LiveParts): Promise<void> {
  const { write, style } = terminal
  const line = (what: string, text: string): void => write(`  ${style.bold(what.padEnd(14))}${text}\n`)
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

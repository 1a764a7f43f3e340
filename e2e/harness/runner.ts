import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Progress } from '@csi-sidecars/testkit'
import type { Cluster } from './cluster.ts'
import { LONG } from './long.ts'
import { temporaryFolder } from './processes.ts'
import type { Check, Ground, Story } from './story.ts'
import type { App, Binaries, Executables, Target } from './subject.ts'
import { errorText, World } from './world.ts'

export interface RunOptions {
  readonly stories: readonly Story[]
  readonly checks: readonly Check[]
  readonly target: Target
  readonly binaries: Binaries
  readonly executables: Executables
  readonly originals: Readonly<Record<App, string>>
  readonly cluster: Cluster
  readonly concurrency: number
  /** Where failing stories leave what is needed to understand them. */
  readonly reports: string
  readonly progress: Progress
}

export interface Tally {
  readonly passed: number
  readonly failed: number
}

const STORY_LIMIT_MS = 120_000

/** Counts on from round to round: events of an earlier round are still there, under the names of their objects. */
let numbered = 0

/** Tells the stories, several at a time: most of them wait most of the time. Those that want to be alone come last. */
export async function run(options: RunOptions): Promise<Tally> {
  const folder = temporaryFolder('stories')
  const { stories: fitting, checks } = toldWith(options)
  const { progress } = options
  const tally = { passed: 0, failed: 0 }
  const count = async (title: string, told: Promise<string | undefined>): Promise<void> => {
    const began = performance.now()
    progress.begin(title)
    const failure = await told
    tally[failure === undefined ? 'passed' : 'failed'] += 1
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    progress.say(
      `${failure === undefined ? 'ok  ' : 'FAIL'} ${options.target.padEnd(8)} ${seconds.padStart(6)} s  ${title}`,
    )
    if (failure !== undefined) progress.say(failure)
    progress.end(title)
  }
  const tell = (story: Story): Promise<void> => {
    numbered += 1
    const id = `s${numbered}`
    return count(story.title, tellOne(story, { ...options, id, folder: join(folder, id) }))
  }
  const together = fitting.filter(({ alone }) => alone !== true)
  const teller = async (): Promise<void> => {
    for (let story = together.shift(); story !== undefined; story = together.shift()) await tell(story)
  }
  await Promise.all(Array.from({ length: options.concurrency }, teller))
  for (const story of fitting.filter(({ alone }) => alone === true)) await tell(story)
  for (const check of checks) {
    await count(check.title, checkOne(check, { ...options, folder: join(options.reports, slug(check.title)) }))
  }
  return tally
}

type Choice = Pick<RunOptions, 'stories' | 'checks' | 'target' | 'binaries'>

/** Those that are told on this target, about these binaries. */
export function toldWith(options: Choice): Pick<RunOptions, 'stories' | 'checks'> {
  // Checks are about the ground and start sidecars of their own.
  const checks = options.binaries === 'one' ? [] : options.checks.filter(({ target }) => target === options.target)
  return { stories: options.stories.filter((story) => fits(story, options)), checks }
}

function fits(story: Story, { target, binaries }: Choice): boolean {
  const whose = binaries === 'one' ? 'ours' : binaries
  const told = (story.only ?? whose) === whose && (story.target ?? target) === target
  if (story.long === target && !LONG) return false
  return told && !(binaries === 'one' && story.notOne === true)
}

async function tellOne(
  story: Story,
  options: RunOptions & { id: string; folder: string },
): Promise<string | undefined> {
  mkdirSync(options.folder, { recursive: true })
  const world = new World({ ...options, app: story.app })
  let failure: string | undefined
  try {
    await within(story.within ?? STORY_LIMIT_MS, story.tell(world))
  } catch (error) {
    const report = join(options.reports, slug(story.title))
    world.report(report, error)
    failure = `${indent(errorText(error))}\n     the logs of all sides are in ${report}`
  }
  try {
    await world.close()
  } catch (error) {
    failure ??= indent(`could not clean up: ${errorText(error)}`)
  }
  return failure
}

async function checkOne({ tell, within: limit }: Check, ground: Ground): Promise<string | undefined> {
  const { folder } = ground
  mkdirSync(folder, { recursive: true })
  try {
    await within(limit ?? STORY_LIMIT_MS, tell(ground))
    return undefined
  } catch (error) {
    return `${indent(errorText(error))}\n     more is in ${folder}`
  }
}

async function within(ms: number, told: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = AbortSignal.timeout(ms)
  timer.addEventListener('abort', () => reject(new Error(`the story did not end within ${ms} ms`)), { once: true })
  told.catch(() => undefined)
  await Promise.race([told, promise])
}

function slug(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 100)
}

function indent(text: string): string {
  return text
    .split('\n')
    .slice(0, 40)
    .map((line) => `     ${line.slice(0, 1200)}`)
    .join('\n')
}

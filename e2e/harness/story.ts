import type { Cluster } from './cluster.ts'
import { LONG } from './long.ts'
import type { App, Binaries, Executables, Subject, Target } from './subject.ts'
import type { World } from './world.ts'

export interface StoryOptions {
  /** Told only for these (ours are the one process, too); with the reason in the story's comment. */
  readonly only?: Exclude<Binaries, 'one'>
  /** Not told for the one process: it is about the executable of a sidecar alone. */
  readonly notOne?: boolean
  readonly target?: Target
  /** Nothing else runs meanwhile: the story counts time or touches what all share. */
  readonly alone?: boolean
  readonly within?: number
  /** Told among the long ones only; with a target there alone, as it passes most of its time with waiting. */
  readonly long?: boolean | Target
}

export interface Story extends StoryOptions {
  readonly app: App
  readonly title: string
  readonly tell: (world: World) => Promise<void>
}

const stories: Story[] = []

/** A set of stories about one binary; each name is a sentence about it. Those about both start the one process themselves. */
export function storiesOf(subject: Subject, chapter: string) {
  return (
    sentence: string,
    ...rest: [(world: World) => Promise<void>] | [StoryOptions, (world: World) => Promise<void>]
  ) => {
    const [options, tell] = rest.length === 1 ? [{}, rest[0]] : rest
    if (options.long === true && !LONG) return
    const app = subject === 'both' ? 'attacher' : subject
    stories.push({ ...options, app, title: `${subject}, ${chapter}: ${sentence}`, tell })
  }
}

export function allStories(): readonly Story[] {
  return stories
}

export interface Ground {
  readonly cluster: Cluster
  /** For what explains a failure. */
  readonly folder: string
  readonly executables: Executables
}

/** Something about the ground itself: nothing else runs meanwhile. */
export interface Check {
  readonly title: string
  readonly target: Target
  readonly within?: number | undefined
  readonly tell: (ground: Ground) => Promise<void>
}

const checks: Check[] = []

export function check(title: string, target: Target, tell: Check['tell'], within?: number): void {
  checks.push({ title, target, within, tell })
}

export function allChecks(): readonly Check[] {
  return checks
}

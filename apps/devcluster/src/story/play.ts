import { abortable, type Clock, DeadlineError, deadline } from '@csi-sidecars/base'
import type { SeenCall } from '../calls/seen.ts'
import { codeNameOf } from '../calls/seen.ts'
import type { Expectation, StoryLine } from './expectation.ts'
import type { Happening } from './happening.ts'

/** Something is done, and then a number of things have to happen. */
export interface Chapter {
  readonly title: string
  readonly act: (signal: AbortSignal) => Promise<void>
  readonly expects: readonly Expectation[]
}

/** Who is told of the story as it goes. */
export interface Teller {
  chapter(number: number, title: string): void
  /** `afterMs`: since the chapter began. */
  line(line: StoryLine, afterMs: number): void
  /** The chapter is over; `untrue`: what has not happened in it. */
  ended(number: number, untrue?: string): void
}

export type Ending =
  | { readonly is: 'true' }
  | { readonly is: 'untrue'; readonly chapter: string; readonly what: string; readonly refusals: readonly string[] }

export interface PlayOptions {
  readonly chapters: readonly Chapter[]
  /** The number of the first; 1 without it. */
  readonly firstNumber?: number
  readonly teller: Teller
  readonly clock: Clock
  /** Subscribes to what happens. */
  readonly watch: (listener: (happening: Happening) => void) => () => void
  /** How long one chapter may take. */
  readonly chapterMs: number
  /** To wait before each. */
  readonly pauseMs: number
}

/** Plays the chapters one after the other, each until all that it expects has happened. Ends at the first that fails. */
export async function play(options: PlayOptions, signal: AbortSignal): Promise<Ending> {
  const { chapters, firstNumber = 1, teller, clock, pauseMs } = options
  for (const [index, chapter] of chapters.entries()) {
    const number = firstNumber + index
    if (pauseMs > 0) await clock.sleep(pauseMs, signal)
    teller.chapter(number, chapter.title)
    const missing = await playChapter(chapter, options, signal)
    teller.ended(number, missing?.what)
    if (missing !== undefined) return { is: 'untrue', chapter: chapter.title, ...missing }
  }
  return { is: 'true' }
}

interface NotTrue {
  readonly what: string
  /** Calls that the driver refused, the last of each kind, in its own words. */
  readonly refusals: readonly string[]
}

/** Returns what has not come true, if anything. */
async function playChapter(
  { act, expects, title }: Chapter,
  { teller, clock, watch, chapterMs }: PlayOptions,
  signal: AbortSignal,
): Promise<NotTrue | undefined> {
  const missing = new Set(expects)
  const done = Promise.withResolvers<void>()
  const refusals = new Map<string, string>()
  const start = clock.monotonic()
  if (missing.size === 0) done.resolve()
  const leave = watch((happening) => {
    if (happening.is === 'call') note(happening.call, refusals)
    for (const expectation of missing) {
      const line = expectation.see(happening)
      if (line === undefined) continue
      missing.delete(expectation)
      teller.line(line, clock.monotonic() - start)
    }
    if (missing.size === 0) done.resolve()
  })
  using limit = deadline(clock, chapterMs, title, signal)
  try {
    await act(limit.signal)
    await abortable(done.promise, limit.signal)
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    const [first] = missing
    if (first === undefined || !(error instanceof DeadlineError)) throw error
    return { what: first.what, refusals: [...refusals.values()] }
  } finally {
    leave()
  }
}

/** A call that succeeds in the end was no lasting refusal. */
function note({ method, code, message }: SeenCall, refusals: Map<string, string>): void {
  if (code === 0) refusals.delete(method)
  else refusals.set(method, `${method}: ${codeNameOf(code)}${message ? ` ${JSON.stringify(message)}` : ''}`)
}

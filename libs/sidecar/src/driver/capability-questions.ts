import { type Clock, messageOf, unreachable } from '@csi-sidecars/base'
import {
  type Caller,
  type CallOptions,
  type DriverCapabilities,
  driverCapabilities,
  getControllerCapabilities,
  getNodeCapabilities,
  getPluginCapabilities,
  type PluginCapabilities,
} from '@csi-sidecars/csi'
import type { Logger, Pairs } from '@csi-sidecars/telemetry'
import { failing, type SentenceFailure, type StartError } from '../start-error.ts'

/** The log line of a failed step. The text in `during` is put before the error message of the step. */
export interface StepFailure {
  readonly message: string | SentenceFailure
  readonly during?: string
  readonly pairs?: Pairs
}

/** A call that asks for capabilities of the driver. If several calls ask about one service, the last answer counts. */
export interface CapabilityQuestion {
  readonly capabilitiesOf: 'plugin' | 'controller' | 'node'
  /** Reports whether the call is necessary after the driver's earlier answers. Default: always. */
  readonly when?: (capabilities: DriverCapabilities) => boolean
  readonly limitMs: number
  readonly failure: StepFailure
  /** Returns an error if the sidecar cannot start with the capabilities in the answer. */
  readonly startError?: (capabilities: DriverCapabilities) => StartError | undefined
}

/** The limits of the questions about capabilities. Aborting `signal` ends all of them. */
export interface AskOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly log?: Logger
  /** The time limit in milliseconds for all calls together. Default: no limit. */
  readonly togetherMs?: number | undefined
}

/** The answers of the driver so far. */
interface Answers {
  readonly plugin: PluginCapabilities
  readonly controller?: DriverCapabilities['controller']
  readonly node?: DriverCapabilities['node']
}

const NONE: Answers = { plugin: { services: new Set(), volumeExpansion: new Set() } }

/** Asks the driver for its capabilities at the start, in the order of the questions. Throws StartError. */
export async function askAtStart(
  driver: Caller,
  questions: readonly CapabilityQuestion[],
  { clock, signal, log, togetherMs = Number.POSITIVE_INFINITY }: AskOptions,
): Promise<DriverCapabilities> {
  const end = clock.monotonic() + togetherMs
  let answers = NONE
  for (const question of questions) {
    if (question.when?.(combinedCapabilities(answers)) === false) continue
    const timeoutMs = Math.max(0, Math.min(question.limitMs, end - clock.monotonic()))
    const options = { timeoutMs, signal, ...(log && { log }) }
    answers = { ...answers, ...(await answer(driver, question, options).catch(stepFailed(question.failure))) }
    const startError = question.startError?.(combinedCapabilities(answers))
    if (startError !== undefined) throw startError
  }
  return combinedCapabilities(answers)
}

/** Asks the driver for its capabilities after a reconnect, with at most one call about each service. */
export async function askAgain(
  driver: Caller,
  questions: readonly CapabilityQuestion[],
  signal: AbortSignal,
): Promise<DriverCapabilities> {
  const asked = new Set<CapabilityQuestion['capabilitiesOf']>()
  let answers = NONE
  for (const question of questions) {
    if (asked.has(question.capabilitiesOf) || question.when?.(combinedCapabilities(answers)) === false) continue
    asked.add(question.capabilitiesOf)
    answers = { ...answers, ...(await answer(driver, question, { timeoutMs: question.limitMs, signal })) }
  }
  return combinedCapabilities(answers)
}

function combinedCapabilities({ plugin, controller, node }: Answers): DriverCapabilities {
  return driverCapabilities(plugin, controller, node)
}

async function answer(
  driver: Caller,
  { capabilitiesOf }: CapabilityQuestion,
  options: CallOptions,
): Promise<Partial<Answers>> {
  switch (capabilitiesOf) {
    case 'plugin':
      return { plugin: await getPluginCapabilities(driver, options) }
    case 'controller':
      return { controller: await getControllerCapabilities(driver, options) }
    case 'node':
      return { node: await getNodeCapabilities(driver, options) }
    default:
      return unreachable(capabilitiesOf)
  }
}

/** Returns a handler for `catch` that throws the error of the failed step. */
export function stepFailed({ message, during, pairs = {} }: StepFailure): (cause: unknown) => never {
  const fail = failing(message, pairs)
  return (cause) => fail(during === undefined ? cause : new Error(`${during}: ${messageOf(cause)}`, { cause }))
}

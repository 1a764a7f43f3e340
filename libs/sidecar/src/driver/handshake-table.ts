import type { DecisiveCapabilities } from '@csi-sidecars/csi'
import type { CapabilityQuestion, StepFailure } from './capability-questions.ts'

/** The log lines for a driver that cannot be connected, or that does not become ready. */
export interface ConnectionFailures {
  readonly connect: StepFailure
  readonly probe: StepFailure
}

/** The parts of the handshake with the driver that differ between sidecars. The steps are the same. */
export interface HandshakeTable {
  readonly limits: {
    /** The time limit of each Probe in milliseconds. */
    readonly probeMs: number
    readonly nameMs: number
    /** The time limit for all capability questions together. Default: only the limits of the single questions apply. */
    readonly questionsMs?: number
  }
  readonly failures: {
    readonly first: ConnectionFailures
    /** The log lines of the second connection of a migrated driver. Absent: one connection. */
    readonly migrated?: (driverName: string) => ConnectionFailures
    readonly name: StepFailure
  }
  /** The questions about the driver's capabilities, in this order. */
  readonly questions: (driverName: string) => readonly CapabilityQuestion[]
  /** The capabilities that the choice of controllers depends on. */
  readonly decisiveCapabilities: DecisiveCapabilities
  /** From this step on, metrics of CSI calls have the driver's name. */
  readonly metricsNameDriverFrom: 'name' | 'capabilities'
  /** Absent: the driver's name is read after the Probe. */
  readonly readsNameBeforeProbe?: true
  /** Longest response of the driver in a log line, in characters. Default: no limit. */
  readonly maxLogLength?: number
}

const CONNECTION: ConnectionFailures = {
  connect: { message: 'Failed to connect to the CSI driver' },
  probe: { message: 'Failed to probe the CSI driver' },
}
const CAPABILITIES_FAILED = 'Failed to get the capabilities of the CSI driver'
const CALL_TIMEOUT_MS = 10_000

/** The handshake of an app that has no Go sidecar, and of several apps in one process. */
export const DEFAULT_HANDSHAKE: HandshakeTable = {
  limits: { probeMs: CALL_TIMEOUT_MS, nameMs: CALL_TIMEOUT_MS },
  failures: { first: CONNECTION, migrated: () => CONNECTION, name: { message: 'Failed to get the CSI driver name' } },
  questions: () => [
    {
      capabilitiesOf: 'plugin',
      limitMs: CALL_TIMEOUT_MS,
      failure: { message: CAPABILITIES_FAILED, during: 'plugin capabilities' },
    },
  ],
  decisiveCapabilities: {},
  metricsNameDriverFrom: 'name',
}

/** Combines the handshakes of several apps. Each question is asked once, with the longest limit of the apps. */
export function combinedHandshake(tables: readonly HandshakeTable[]): HandshakeTable {
  const [only] = tables
  if (only !== undefined && tables.length === 1) return only
  const maxOf = (of: (table: HandshakeTable) => number): number => Math.max(...tables.map(of))
  const maxLogLength = tables.map((table) => table.maxLogLength).find((length) => length !== undefined)
  return {
    ...DEFAULT_HANDSHAKE,
    limits: { probeMs: maxOf(({ limits }) => limits.probeMs), nameMs: maxOf(({ limits }) => limits.nameMs) },
    questions: (driver) => combinedQuestions(tables.flatMap(({ questions }) => questions(driver))),
    decisiveCapabilities: {
      plugin: tables.flatMap(({ decisiveCapabilities }) => decisiveCapabilities.plugin ?? []),
      controller: tables.flatMap(({ decisiveCapabilities: decisive }) => decisive.controller ?? []),
      node: tables.flatMap(({ decisiveCapabilities: decisive }) => decisive.node ?? []),
    },
    ...(maxLogLength !== undefined && { maxLogLength }),
  }
}

function combinedQuestions(all: readonly CapabilityQuestion[]): readonly CapabilityQuestion[] {
  return (['plugin', 'controller', 'node'] as const).flatMap((service) => {
    const same = all.filter((question) => question.capabilitiesOf === service)
    if (same.length === 0) return []
    return [
      {
        capabilitiesOf: service,
        when: (facts) => same.some(({ when }) => when?.(facts) !== false),
        limitMs: Math.max(...same.map(({ limitMs }) => limitMs)),
        failure: { message: CAPABILITIES_FAILED, during: `${service} capabilities` },
        startError: (facts) => same.map(({ startError }) => startError?.(facts)).find((error) => error !== undefined),
      },
    ]
  })
}

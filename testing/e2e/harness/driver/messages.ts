/** The messages between the runner and the thread that serves the drivers. */

import type { DriverSettings } from '@csi-sidecars/emulator'

/** A protobuf message as JSON. Omits unset fields, and has enum values by name and 64-bit numbers as text. */
export type Plain = Readonly<Record<string, unknown>>

/** The first calls of a sidecar. The thread answers them without the runner, unless they have a script. */
export const FIRST_CALLS = [
  'Probe',
  'GetPluginInfo',
  'GetPluginCapabilities',
  'ControllerGetCapabilities',
  'NodeGetCapabilities',
  'GroupControllerGetCapabilities',
]

/** How the thread answers the first calls. */
export interface FirstAnswers {
  readonly settings: Partial<DriverSettings>
  /** The first calls that the runner answers. */
  readonly scripted: readonly string[]
}

/** The answer to one call. */
export type Answer =
  | { readonly reply: object }
  /** The answer of the emulated driver, which keeps volumes and snapshots. */
  | { readonly emulated: true }
  | { readonly code: number; readonly message: string; readonly retryInfo?: { readonly seconds: number } }

/** The IDs of all that the emulated driver keeps. */
export interface StoredIds {
  readonly volumes: readonly string[]
  readonly snapshots: readonly string[]
  readonly groups: readonly string[]
}

/** A call as the driver received it. `start` is a wall time in milliseconds. */
export interface ReceivedCall {
  readonly method: string
  readonly request: Plain
  readonly start: number
  /** The time from the start to the deadline. Infinity if the call has no deadline. */
  readonly timeoutMs: number
  readonly metadata: Readonly<Record<string, unknown>>
}

export type ToThread =
  | { readonly kind: 'open'; readonly driver: number; readonly socket: string; readonly first: FirstAnswers }
  | { readonly kind: 'first'; readonly driver: number; readonly first: FirstAnswers }
  | { readonly kind: 'answer'; readonly call: number; readonly answer: Answer }
  | { readonly kind: 'readStored'; readonly driver: number; readonly question: number }
  | { readonly kind: 'kill'; readonly driver: number }

export type FromThread =
  | { readonly kind: 'opened'; readonly driver: number; readonly error: string | undefined }
  /** `isAnswered` is true if the thread answers the call without the runner. */
  | {
      readonly kind: 'call'
      readonly driver: number
      readonly call: number
      readonly received: ReceivedCall
      readonly isAnswered: boolean
    }
  | { readonly kind: 'ended'; readonly call: number; readonly at: number; readonly code: number }
  | { readonly kind: 'cancelled'; readonly call: number; readonly at: number }
  | { readonly kind: 'stored'; readonly question: number; readonly stored: StoredIds }

import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Logger } from '@csi-sidecars/telemetry'
import type { App, AppControllers, AppFlags, LeaseNames, SharedParts, StartTable } from './app.ts'
import { type FeatureGates, resolveGates } from './feature-gates.ts'
import type { GateTable } from './gate-tables.ts'
import type { Flags, FlagTable } from './go-flags.ts'
import type { HandshakeTable } from './handshake.ts'
import type { StandardFlags } from './start-checks.ts'
import { StartError } from './start-error.ts'

/** One app of a process with its command line; its flags' types are its own business. */
export interface Member {
  readonly name: string
  /** In --controllers: `attacher`. */
  readonly prefix: string
  /** `external-attacher v4.13.0` */
  readonly replaces: string
  readonly lease: LeaseNames
  readonly gates: GateTable
  /** The standard flags as this app takes them. */
  readonly standard: StandardFlags
  readonly master: string
  readonly handshake: HandshakeTable
  checkFlags(): void
  /** Sets the gates as the command line asks for. `failure` is the line for what cannot be set. */
  setGates(failure: string, log: Logger, table: Pick<StartTable, 'logsGates'>): void
  askServerForGates(server: {
    readonly client: KubeClient
    readonly log: Logger
    readonly signal: AbortSignal
  }): Promise<void>
  controllers(shared: SharedParts): AppControllers
}

interface OneOf {
  readonly member: Member
  readonly members: readonly Member[]
}

/** For `catch`: where several apps run, the line that ends the start says whose failure it is. */
export function failingFor({ member, members }: OneOf): (error: unknown) => never {
  return (error) => {
    if (members.length === 1 || !(error instanceof StartError)) throw error
    const { message, cause, pairs, exitCode } = error
    throw new StartError(message, { cause, exitCode, pairs: { sidecar: member.name, ...pairs } })
  }
}

/** The driver is nothing for one app among several: the line says how to start without that app. */
export function unfitFor({ message, cause, pairs, exitCode }: StartError, { member, members }: OneOf): StartError {
  const others = members.filter((each) => each !== member).map(({ prefix }) => prefix)
  return new StartError(`${message}: use --controllers=${others.join(',')}`, { cause, pairs, exitCode })
}

export function memberOf<const T extends FlagTable, N extends string>(
  app: App<T, N>,
  flags: Flags<AppFlags<T>>,
): Member {
  // The table begins with the standard flags, which the compiler does not see through the type parameter.
  const standard = flags as unknown as StandardFlags
  let gates: FeatureGates<N> = defaultGates(app.gates)
  return {
    name: app.name,
    prefix: app.prefix,
    replaces: app.replaces,
    lease: app.lease,
    gates: app.gates,
    standard,
    master: app.master?.(flags) ?? '',
    handshake: app.handshake(flags),
    checkFlags: () => app.checkFlags?.(flags),
    setGates(failure, log, { logsGates }) {
      const given = standard.values['feature-gates']
      const resolved = resolveGates(app.gates, given)
      if (resolved.kind === 'refused') {
        const pairs = logsGates ? { featureGates: Object.fromEntries([...given].sort()) } : {}
        throw new StartError(failure, { cause: new Error(resolved.error), pairs })
      }
      for (const { message, pairs } of resolved.notices) log.info(message, pairs)
      gates = resolved.gates
    },
    async askServerForGates(server) {
      gates = (await app.gatesOfServer?.(gates, server)) ?? gates
    },
    controllers: (shared) => app.controllers({ ...shared, flags, gates }),
  }
}

function defaultGates<N extends string>(table: GateTable<N>): FeatureGates<N> {
  const resolved = resolveGates(table, new Map())
  if (resolved.kind === 'refused') throw new Error(resolved.error)
  return resolved.gates
}

import type { Logger } from '@csi-sidecars/telemetry'
import type { HandshakeTable } from '../driver/handshake-table.ts'
import { type FeatureGates, resolveGates } from '../flags/feature-gates.ts'
import type { GateTable } from '../flags/gate-tables.ts'
import type { Flags, FlagTable } from '../flags/go-flags.ts'
import type { App, AppControllers, AppFlags, LeaseNames, SharedParts, StartServer, StartTable } from './app.ts'
import { handshakeTable } from './defaults.ts'
import type { StandardFlags } from './start-checks.ts'
import { failing, type SentenceFailure, StartError } from './start-error.ts'

/** One app of a process with its command line. The types of its flags are hidden. */
export interface SidecarInstance {
  readonly name: string
  /** Its name in --controllers. */
  readonly prefix: string
  /** The other apps of the process, by their prefixes. */
  readonly companions: readonly string[]
  /** `external-attacher v4.13.0` */
  readonly replaces: string
  readonly lease: LeaseNames
  readonly gates: GateTable
  /** The standard flags as this app takes them. */
  readonly standard: StandardFlags
  readonly master: string
  readonly handshake: HandshakeTable
  checkFlags(): void
  /** Sets the gates from the command line. `failure` is the message for gates that cannot be set. */
  setGates(failure: string | SentenceFailure, log: Logger, table: Pick<StartTable, 'logsGates'>): void
  /** Why the command line is refused. */
  contradiction(env: NodeJS.ProcessEnv): string | undefined
  /** Runs on each node, without a leader. */
  readonly onEachNode: boolean
  askServerForGates(server: StartServer): Promise<void>
  checkServer(env: NodeJS.ProcessEnv, server: StartServer): Promise<void>
  controllers(shared: SharedParts): AppControllers | Promise<AppControllers>
}

/** Where several apps run, each line names its sidecar. */
export function logOf({ name, companions }: Pick<SidecarInstance, 'name' | 'companions'>, log: Logger): Logger {
  return companions.length > 0 ? log.with({ sidecar: name }) : log
}

/** For `catch`: where several apps run, the line that ends the start names the sidecar. */
export function withSidecarName({ name, companions }: SidecarInstance): (error: unknown) => never {
  return (error) => {
    if (companions.length === 0 || !(error instanceof StartError)) throw error
    const { message, cause, pairs, exitCode } = error
    throw new StartError(message, { cause, exitCode, pairs: { sidecar: name, ...pairs } })
  }
}

/** One app among several does not apply to the driver: the line says how to start without that app. */
export function notApplicable(
  { message, cause, pairs, exitCode }: StartError,
  { companions }: SidecarInstance,
): StartError {
  const advice = companions.length === 0 ? '' : `: use --controllers=${companions.join(',')}`
  return new StartError(`${message}${advice}`, { cause, pairs, exitCode })
}

export function instanceOf<const T extends FlagTable, N extends string>(
  app: App<T, N>,
  flags: Flags<AppFlags<T>>,
  companions: readonly string[] = [],
): SidecarInstance {
  // The table begins with the standard flags, which the compiler does not see through the type parameter.
  const standard = flags as unknown as StandardFlags
  let gates: FeatureGates<N> = defaultGates(app.gates)
  return {
    name: app.name,
    prefix: app.prefix,
    companions,
    replaces: app.replaces,
    lease: app.lease,
    gates: app.gates,
    standard,
    master: app.master?.(flags) ?? '',
    handshake: handshakeTable(app.handshake?.(flags)),
    contradiction: (env) => app.contradiction?.(flags, env),
    onEachNode: app.onEachNode?.(flags) ?? false,
    checkFlags: () => app.checkFlags?.(flags),
    setGates(failure, log, { logsGates }) {
      const given = standard.values['feature-gates']
      const resolved = resolveGates(app.gates, given)
      if (resolved.kind === 'refused') {
        const pairs = logsGates ? { featureGates: Object.fromEntries([...given].sort()) } : {}
        return failing(failure, pairs)(new Error(resolved.error))
      }
      for (const { message, pairs } of resolved.notices) log.info(message, pairs)
      gates = resolved.gates
    },
    async askServerForGates(server) {
      gates = (await app.gatesOfServer?.(gates, server)) ?? gates
    },
    checkServer: async (env, server) => await app.checkServer?.(flags, env, server),
    controllers: (shared) => app.controllers({ ...shared, flags, gates }),
  }
}

function defaultGates<N extends string>(table: GateTable<N>): FeatureGates<N> {
  const resolved = resolveGates(table, new Map())
  if (resolved.kind === 'refused') throw new Error(resolved.error)
  return resolved.gates
}

import { type Clock, systemClock } from '@csi-sidecars/base'
import {
  ControllerService,
  GroupControllerService,
  IdentityService,
  NodeService,
  PluginCapability_Service_Type,
  PluginCapability_VolumeExpansion_Type,
} from '@csi-sidecars/csi-proto'
import { status } from '@grpc/grpc-js'
import { createDriverFaults, type DriverFaults, type DriverResponse, type DriverRule } from '../faults/call-faults.ts'
import { createCallLog, type DriverCall, type DriverCallLog, subjectOf } from './call-log.ts'
import { EmulatedController } from './controller.ts'
import { DriverFailure } from './driver-failure.ts'
import { GroupController } from './group-controller.ts'
import { listen, restartable, type ServedMethod } from './listener.ts'
import type { Response } from './methods.ts'
import { EmulatedNode } from './node.ts'
import type { ServerCall, WireMethod } from './server-call.ts'
import { DEFAULT_SETTINGS, type DriverSettings } from './settings.ts'
import { Volumes } from './volumes.ts'

/** The options of an emulated driver. Only the socket is required. */
export interface CsiDriverOptions extends Partial<DriverSettings> {
  /** The path of the unix socket. */
  readonly socket: string
  readonly clock?: Clock
  readonly faults?: readonly DriverRule[]
  /** The volumes of another driver with the same storage. Default: no volumes. */
  readonly volumes?: Volumes
  /** Called when the driver crashes, so that its process can end, too. */
  readonly onCrash?: () => void
  /** Called before the driver listens, so that no call comes before its script. */
  readonly prepare?: (driver: CsiDriver) => void
}

type Answer = (request: never, call: DriverCall) => object | Promise<object>

/**
 * A running CSI driver.
 *
 * Guarantees: it passes csi-sanity. The effects of two calls never overlap. Its volumes and snapshots survive `crash`
 * and `restart`.
 *
 * Caveats: it mounts nothing. It refuses volumes that it did not create, unless `unknownVolumes` is `adopt`.
 *
 * Errors: `startCsiDriver` rejects if the path of the socket is too long, or belongs to a file or to another process.
 */
export interface CsiDriver extends AsyncDisposable {
  readonly socket: string
  /** The address of the socket for `--csi-address`: `unix://` and the path. */
  readonly address: string
  readonly settings: DriverSettings
  readonly volumes: Volumes
  readonly faults: DriverFaults
  /** The calls in the order in which they began. */
  readonly calls: readonly DriverCall[]
  readonly log: DriverCallLog
  /**
   * Sets a function that answers a method. It gets the request, and the entry of the call in the log. It may throw a
   * DriverFailure. Undefined restores the usual answers.
   */
  script<Q, R extends object>(
    method: string,
    answer: ((request: Q, call: DriverCall) => R | Promise<R>) | undefined,
  ): void
  /** Returns the usual answer of the driver, without the script. */
  usualAnswer<Q extends object, R extends object>(method: string, request: Q): R
  /** Breaks all connections and stops listening, as a killed process does. The volumes stay as they are. */
  crash(): Promise<void>
  /** Listens again after a crash. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const METHODS: readonly WireMethod[] = [
  IdentityService,
  ControllerService,
  NodeService,
  GroupControllerService,
].flatMap((service) => Object.values(service))

export async function startCsiDriver(options: CsiDriverOptions): Promise<CsiDriver> {
  const { socket, clock = systemClock, faults: rules, volumes: shared, onCrash, prepare, ...changedSettings } = options
  const settings: DriverSettings = { ...DEFAULT_SETTINGS, ...changedSettings }
  const volumes = shared ?? new Volumes(settings, { clock })
  const log = createCallLog(clock)
  const faults = createDriverFaults(clock, rules)
  const scripts = new Map<string, Answer>()
  const services = [
    new EmulatedIdentity(settings),
    new EmulatedController(settings, volumes),
    new EmulatedNode(settings, volumes),
    new GroupController(settings, volumes),
  ]
  const crash = async (): Promise<void> => {
    onCrash?.()
    await server.stop()
  }
  const dispatcher = new Dispatcher({ services, scripts, log, faults, clock, crash })
  const server = restartable(() =>
    listen(
      socket,
      METHODS.map((method) => dispatcher.served(method)),
      clock,
    ),
  )
  const driver: CsiDriver = {
    socket,
    address: `unix://${socket}`,
    settings,
    volumes,
    faults,
    log,
    get calls() {
      return log.entries
    },
    script(method, answer) {
      if (answer === undefined) scripts.delete(method)
      else scripts.set(method, answer as Answer)
    },
    usualAnswer: (method, request) => ownAnswer(services, method, request) as never,
    crash,
    restart: server.start,
    stop: server.stop,
    [Symbol.asyncDispose]: server.stop,
  }
  prepare?.(driver)
  await server.start()
  return driver
}

interface DispatcherParts {
  readonly services: readonly object[]
  readonly scripts: ReadonlyMap<string, Answer>
  readonly log: DriverCallLog
  readonly faults: DriverFaults
  readonly clock: Clock
  readonly crash: () => Promise<void>
}

/** Passes calls of clients to the services. Logs each call, and applies faults and scripts. */
class Dispatcher {
  readonly #deps: DispatcherParts

  constructor(deps: DispatcherParts) {
    this.#deps = deps
  }

  served(method: WireMethod): ServedMethod {
    const name = method.path.slice(method.path.lastIndexOf('/') + 1)
    return { method, handle: (call) => this.#serve(name, call) }
  }

  #serve(method: string, call: ServerCall): void {
    const { log, clock } = this.#deps
    const open = log.add({
      method,
      request: { ...call.request },
      headers: call.headers,
      start: clock.monotonic(),
      end: undefined,
      deadlineMs: call.timeoutMs,
      code: undefined,
    })
    const end = (code: number, outcome: Pick<DriverCall, 'message' | 'response' | 'isAbandoned'> = {}): void => {
      open.end({ end: clock.monotonic(), code, ...outcome })
      if (outcome.response !== undefined) open.note({ response: undefined })
    }
    call.onAbandoned(() => end(status.CANCELLED, { isAbandoned: true }))
    this.#run(call, open.entry, end).then(
      (response) => {
        if (response === undefined) return
        end(status.OK, { response: { ...response } })
        call.reply(response)
      },
      (error: unknown) => {
        const failure = error instanceof DriverFailure ? error : new DriverFailure('INTERNAL', String(error))
        end(failure.code, { message: failure.message })
        call.fail(failure)
      },
    )
  }

  /** Returns the answer to a call. Undefined if a fault has answered the call, or leaves it unanswered. */
  async #run(call: ServerCall, entry: DriverCall, end: (code: number) => void): Promise<object | undefined> {
    const { faults, clock } = this.#deps
    const subject = subjectOf(entry.method, call.request)
    await faults.awaitHold(subject)
    const fault = faults.match(subject)
    if (fault?.kind === 'delay') await clock.sleep(fault.ms)
    if (fault === undefined || fault.kind === 'delay') return this.#answer(call.request, entry)
    if (fault.applied === true) await this.#answer(call.request, entry)
    if (fault.kind !== 'raw') return await this.#respond(fault)
    end(status.UNKNOWN)
    call.answerRaw(fault.answer)
    return undefined
  }

  async #respond(fault: Exclude<DriverResponse, { readonly kind: 'raw' }>): Promise<undefined> {
    switch (fault.kind) {
      case 'fail':
        throw new DriverFailure(fault.code, fault.message ?? `injected ${fault.code}`, fault)
      case 'hang':
        return undefined
      case 'crash':
        await this.#deps.crash()
        return undefined
    }
  }

  async #answer(request: object, entry: DriverCall): Promise<object> {
    const scripted = this.#deps.scripts.get(entry.method)
    if (scripted !== undefined) return await scripted(request as never, entry)
    return ownAnswer(this.#deps.services, entry.method, request)
  }
}

function ownAnswer(services: readonly object[], method: string, request: object): object {
  for (const service of services) {
    const handler: unknown = Reflect.get(service, method)
    if (typeof handler === 'function') return handler.call(service, request) as object
  }
  throw new DriverFailure('UNIMPLEMENTED', `${method} is not implemented`)
}

class EmulatedIdentity {
  readonly #settings: DriverSettings

  constructor(settings: DriverSettings) {
    this.#settings = settings
  }

  GetPluginInfo(): Response<'GetPluginInfo'> {
    return { name: this.#settings.name, vendorVersion: this.#settings.version, manifest: {} }
  }

  GetPluginCapabilities(): Response<'GetPluginCapabilities'> {
    const { plugin, expansion } = this.#settings
    const services = plugin.map((each) => ({
      type: { $case: 'service' as const, value: { type: PluginCapability_Service_Type[each] } },
    }))
    if (expansion === undefined) return { capabilities: services }
    const value = { type: PluginCapability_VolumeExpansion_Type[expansion] }
    return { capabilities: [...services, { type: { $case: 'volumeExpansion', value } }] }
  }

  Probe(): Response<'Probe'> {
    return { ready: this.#settings.ready }
  }
}

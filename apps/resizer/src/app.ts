import { KeyedMutex } from '@csi-sidecars/base'
import type { AnyController, Lead } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  NodeServiceCapability_RPC_Type as NodeRpc,
} from '@csi-sidecars/csi-proto'
import { createRecorder, recorderWhileLeading, structuredLines } from '@csi-sidecars/events'
import { clientWhileLeading } from '@csi-sidecars/kube-client'
import {
  type App,
  type AppControllers,
  type AppParts,
  attributesClassGate,
  FATAL,
  type GateTable,
  RELEASE_ON_EXIT,
  StartError,
  sanitizeName,
} from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import { FifoOrder, reservedFor } from '@csi-sidecars/workqueue'
import { openClasses, openClusterCaches } from './caches/open.ts'
import { RESIZER_FLAGS } from './flags.ts'
import { handshakeOf } from './handshake.ts'
import { modifyController } from './modify/controller.ts'
import { unsupportedModifyController } from './modify-unsupported/controller.ts'
import { openNodeCaches } from './node/open.ts'
import { queueName, type ResizerParts, type ResizerSettings, type ResizerTerm } from './parts.ts'
import { resizeController } from './resize/controller.ts'

const RESIZER_GATES = {
  sidecarGates: {
    AnnotateFsResize: { stage: 'beta', default: true },
    ReleaseLeaderElectionOnExit: RELEASE_ON_EXIT,
    VolumeAttributesClass: { stage: 'ga', default: true },
  },
  permanent: { RecoverVolumeExpansionFailure: true },
} as const satisfies GateTable

type GateName = keyof (typeof RESIZER_GATES)['sidecarGates']

type ResizerAppParts = AppParts<typeof RESIZER_FLAGS, GateName>

const LEASE_PREFIX = 'external-resizer-'

export const resizer: App<typeof RESIZER_FLAGS, GateName> = {
  name: 'csi-resizer',
  prefix: 'resizer',
  replaces: 'external-resizer v2.3.0',
  flags: RESIZER_FLAGS,
  gates: RESIZER_GATES,
  lease: { prefix: LEASE_PREFIX, component: (driverName) => `${LEASE_PREFIX}${sanitizeName(driverName)}` },
  start: {
    bothAddressesError: 'Only one of `--metrics-address` and `--http-endpoint` can be set.',
    configFailed: 'Failed to create cluster config',
    clientFailed: 'Failed to create kube client',
  },
  configure: (flags, env) => ({
    flagConflict: whyNoNodeDeployment(flags, env),
    master: flags.values.master,
    onEachNode: flags.values['node-deployment'],
    handshake: handshakeOf({ probeMs: flags.values.timeout, ...limitsOf(flags) }),
  }),
  async adaptGatesToServer(server) {
    return await attributesClassGate(server.gates, server)
  },
  controllers: chooseControllers,
}

/** Returns the name of this process's node with `--node-deployment`. Undefined without the flag. */
function nodeNameOf({ values }: ResizerAppParts['flags'], env: ResizerAppParts['env']): string | undefined {
  if (!values['node-deployment']) return undefined
  return values['node-name'] || (env['NODE_NAME'] ?? '')
}

function whyNoNodeDeployment(flags: ResizerAppParts['flags'], env: ResizerAppParts['env']): string | undefined {
  const { values } = flags
  const nodeName = nodeNameOf(flags, env)
  if (nodeName === undefined) {
    return values['node-name'] !== '' ? 'flag -node-name has no effect without -node-deployment' : undefined
  }
  if (values['leader-election']) return 'flag -node-deployment excludes -leader-election: every node works for itself'
  if (nodeName === '') return 'flag -node-deployment needs -node-name or the environment variable NODE_NAME'
  return undefined
}

interface SupportedOperations {
  readonly expands: 'driver' | 'node' | undefined
  readonly modifies: boolean
}

function expanderOf({ controller, node }: Driver['capabilities']): SupportedOperations['expands'] {
  if (controller.has(ControllerRpc.EXPAND_VOLUME)) return 'driver'
  return node?.has(NodeRpc.EXPAND_VOLUME) === true ? 'node' : undefined
}

function chooseOperations({ capabilities }: Driver, log: Logger): SupportedOperations {
  const modifies = capabilities.controller.has(ControllerRpc.MODIFY_VOLUME)
  const expands = expanderOf(capabilities)
  if (expands === 'node') {
    log.info('The CSI driver supports node resize only, using trivial resizer to handle resize requests')
  }
  if (expands === undefined) {
    const message = 'CSI driver neither supports controller resize nor node resize'
    log.info('Resize not supported', { message })
  }
  if (!modifies) log.info('Modify not supported', { message: 'CSI driver does not support controller modify' })
  if (expands === undefined && !modifies) {
    throw new StartError('CSI driver does not support resize nor modify', { exitCode: FATAL })
  }
  return { expands, modifies }
}

function chooseControllers(openParts: ResizerAppParts): AppControllers {
  const { flags, gates, env, client, driver, caches, backlog, clock, log } = openParts
  const choice = chooseOperations(driver, log)
  const modifies = choice.modifies && gates.isEnabled('VolumeAttributesClass')
  const { expands } = choice
  const resyncMs = flags.values['resync-period']
  const nodeName = nodeNameOf(flags, env)
  if (nodeName !== undefined) log.info('Acting only on volumes of this node', { node: nodeName })
  const options = { caches, driverName: driver.name, resyncMs, clock, log }
  const opened = nodeName === undefined ? openClusterCaches(options) : openNodeCaches({ ...options, nodeName })
  const informers = { ...opened, classes: modifies ? openClasses(options) : undefined }
  const component = `external-resizer ${driver.name}`
  const recorder = createRecorder({ client, component, clock, log })
  const settings = settingsOf(flags, gates, driver.name)
  const resizerParts: ResizerParts = { settings, expands, client, driver, ...informers, recorder, backlog, clock, log }
  return {
    queues: expands !== undefined || modifies ? [queueName(driver.name)] : [],
    controllers: (lead) => resizerControllers(resizerParts, lead),
    close: (signal) => recorder.flush(signal),
  }
}

type CallLimits = Pick<ResizerSettings, 'resizeTimeoutMs' | 'modifyTimeoutMs'>

/** Returns the deadlines of calls. A given `--timeout` replaces `--resize-timeout` and `--modify-timeout`. */
function limitsOf({ values, explicitFlags }: ResizerAppParts['flags']): CallLimits {
  const forAll = explicitFlags.has('timeout') ? values.timeout : undefined
  return {
    resizeTimeoutMs: forAll ?? values['resize-timeout'],
    modifyTimeoutMs: forAll ?? values['modify-timeout'],
  }
}

function settingsOf(
  flags: ResizerAppParts['flags'],
  gates: ResizerAppParts['gates'],
  driverName: string,
): ResizerSettings {
  const { values } = flags
  return {
    ...limitsOf(flags),
    driverName,
    workers: values.workers,
    retryStartMs: values['retry-interval-start'],
    retryMaxMs: values['retry-interval-max'],
    handleInUse: values['handle-volume-inuse-error'],
    annotateFsResize: gates.isEnabled('AnnotateFsResize'),
    extraMetadata: values['extra-modify-metadata'],
    nodeDeployment: values['node-deployment'],
  }
}

/** Returns the controllers that run while this process leads. */
export function resizerControllers(opened: ResizerParts, { assertLeading }: Lead): readonly AnyController[] {
  const { client, claims, volumes, classes, driver, recorder, expands, clock, log } = opened
  const claimDeps = {
    api: clientWhileLeading(client, assertLeading),
    claims,
    volumes,
    mutex: new KeyedMutex(),
    claimsWithLostAnswer: new Set<string>(),
    recorder: recorderWhileLeading(recorder, assertLeading, structuredLines(log)),
    clock,
    log,
  }
  const { workers } = opened.settings
  const newOrder = (): FifoOrder => new FifoOrder({ workers, reserved: reservedFor(workers) })
  const orders = { resize: newOrder(), modify: newOrder() }
  const term: ResizerTerm = { ...opened, assertLeading, claimDeps, orders }
  const cannotModify = classes === undefined && !driver.capabilities.controller.has(ControllerRpc.MODIFY_VOLUME)
  return [
    ...(expands === undefined ? [] : [resizeController(term)]),
    ...(classes === undefined ? [] : [modifyController({ ...term, classes })]),
    ...(cannotModify ? [unsupportedModifyController(term)] : []),
  ]
}

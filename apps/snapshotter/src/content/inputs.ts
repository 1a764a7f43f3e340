import { messageOf } from '@csi-sidecars/base'
import { resolveTemplate } from '@csi-sidecars/csi'
import { isNotFound } from '@csi-sidecars/kube-client'
import { readSecret, SecretError, type SecretRef } from '@csi-sidecars/sidecar'
import { goQuote, UNQUOTED } from '@csi-sidecars/telemetry'
import type { Content, SnapshotClass } from '../caches/content.ts'
import { RESERVED_PREFIX } from '../caches/names.ts'
import type { Naming } from '../parts.ts'
import { rethrowAs } from './failure.ts'
import type { ContentKind, CreateRequest } from './kinds.ts'
import type { SnapshotCreation } from './memory.ts'
import { snapshotParameters } from './parameters.ts'
import type { ValuesToRecord } from './patches.ts'
import type { ContentRun } from './run.ts'

/** The encoded values of a Secret. */
type Secrets = Readonly<Record<string, string>>

/** The request of a creation, and the values in its parameters that must be stored before the call. */
interface PreparedCreation {
  readonly request: CreateRequest
  readonly valuesToRecord: ValuesToRecord | undefined
}

/**
 * Returns the request of the creation. Only the Secret of a repeated call may differ from the first call, because a
 * driver refuses a name that it knows with other parameters. A final failure permits another request.
 */
export async function prepareCreation(run: ContentRun): Promise<PreparedCreation> {
  const creation = run.deps.memory.creationOf(run.content.uid)
  if (creation === undefined) return await firstRequest(run)
  return { request: await repeatedRequest(run, creation), valuesToRecord: undefined }
}

/** Returns the name, parameters and secrets of a creation call. Throws the error that the status has to show. */
async function firstRequest(run: ContentRun): Promise<PreparedCreation> {
  const { content } = run
  const { kind, naming, extraMetadata, parameterTemplates } = run.deps
  const { snapshot, content: noun } = kind.texts
  const inputs = async (): Promise<readonly [SnapshotClass, Secrets]> => {
    const { key, className } = content
    if (className === undefined) throw new Error(`failed to take ${snapshot} ${key} without a ${snapshot} class`)
    return [classOf(run, className), await readAnnotatedSecrets(run)]
  }
  const failedStep = `failed to get input parameters to create ${snapshot} for ${noun} ${content.key}`
  const [found, secrets] = await inputs().catch(rethrowAs(failedStep, goQuote))
  const passed = driverParameters(found.parameters)
  const name = snapshotName(kind, content, naming)
  const { parameters, valuesToRecord } = parameterTemplates
    ? await snapshotParameters(run, { parameters: passed, className: found.key }).catch(rethrowAs(failedStep))
    : { parameters: passed, valuesToRecord: undefined }
  const metadata = extraMetadata ? metadataOf(kind, content) : {}
  return { request: { name, parameters: { ...parameters, ...metadata }, secrets }, valuesToRecord }
}

/** Reads the Secret for calls about an existing snapshot. It is named in annotations (group member) or in the class. */
export async function readCheckSecrets(run: ContentRun): Promise<Secrets> {
  const { content } = run
  const { kind } = run.deps
  const { snapshot, snapshotContent } = kind.texts
  const subject = `for ${snapshotContent} ${content.key}`
  if (content.status?.groupHandle !== undefined)
    return await readAnnotatedSecrets(run).catch(rethrowAs(`failed to get credentials from annotation ${subject}`))
  if (content.className === undefined) return {}
  const { className } = content
  const classFailed = rethrowAs(`failed to get ${snapshot} class ${className} ${subject}`)
  const { parameters } = await Promise.try(classOf, run, className).catch(classFailed)
  const templateFailed = rethrowAs(`failed to get secret reference ${subject}`)
  const ref = await Promise.try(secretRefOf, parameters, kind, content).catch(templateFailed)
  return await loadSecret(run, ref).catch(rethrowAs(`failed to get credentials ${subject}`))
}

/** Returns the Secret for calls about an existing snapshot. Undefined if the class names no such Secret. */
function secretRefOf(
  parameters: Readonly<Record<string, string>>,
  { prefix, texts, checkSecretPrefix }: ContentKind,
  { key }: Content,
): SecretRef | undefined {
  const name = parameters[`${RESERVED_PREFIX}${checkSecretPrefix}name`]
  const namespace = parameters[`${RESERVED_PREFIX}${checkSecretPrefix}namespace`]
  if (name === undefined && namespace === undefined) return undefined
  const failed = 'failed to get name and namespace template from params'
  if (name === undefined || namespace === undefined) {
    const why = `either name and namespace for ${texts.checkSecret} secrets specified, Both must be specified`
    throw new Error(`${failed}: ${why}`)
  }
  if (name === '' || namespace === '') {
    const why = 'secrets specified in parameters but value of either namespace or name is empty'
    throw new Error(`${failed}: ${texts.checkSecret} ${why}`)
  }
  const tokens = new Map([[`${prefix}content.name`, key]])
  return { namespace: resolveTemplate(namespace, tokens, 'namespace'), name: resolveTemplate(name, tokens, 'secret') }
}

/** Reads the Secret that two annotations name. Returns no values if one of the annotations is missing. */
export async function readAnnotatedSecrets(run: ContentRun): Promise<Secrets> {
  const { key, secretName, secretNamespace } = run.content
  if (secretName === undefined || secretNamespace === undefined) return {}
  const { snapshotContent, credentials } = run.deps.kind.texts
  if (secretName === '' || secretNamespace === '') {
    const why = 'secret name or namespace not specified'
    throw new Error(`cannot retrieve secrets for ${snapshotContent} ${goQuote(key)}, err: ${why}`)
  }
  try {
    return await loadSecret(run, { namespace: secretNamespace, name: secretName })
  } catch (cause) {
    run.signal.throwIfAborted()
    run.deps.log.error(undefined, `Failed to get credentials for ${credentials} ${key}: ${messageOf(cause)}`, UNQUOTED)
    throw new Error(`cannot get credentials for ${snapshotContent} ${goQuote(key)}`, { cause })
  }
}

/** Returns the request of a repeated creation. If its Secret cannot be read, uses the values of the first call. */
export async function repeatedRequest(run: ContentRun, { request }: SnapshotCreation): Promise<CreateRequest> {
  try {
    return { ...request, secrets: await readAnnotatedSecrets(run) }
  } catch {
    run.signal.throwIfAborted()
    // The repeated call does not wait for the Secret.
    run.stopWaiting()
    return request
  }
}

/** Returns the values of the Secret. If it is missing, the content waits until it appears. */
async function loadSecret(run: ContentRun, ref: SecretRef | undefined): Promise<Secrets> {
  try {
    return await readSecret(run.deps.api, ref, { signal: run.signal })
  } catch (error) {
    const isMissing = error instanceof SecretError && isNotFound(error.cause)
    if (ref !== undefined && isMissing) run.waitFor({ kind: 'secret', name: `${ref.namespace}/${ref.name}` })
    throw error
  }
}

function classOf(run: ContentRun, name: string): SnapshotClass {
  const found = run.deps.classes.get(name)
  if (found !== undefined) return found
  run.waitFor({ kind: 'class', name })
  const { kind, group } = run.deps.kind.classes
  throw new Error(`${kind.toLowerCase()}.${group} ${goQuote(name)} not found`)
}

/** The reserved parameters of a class that only sidecars read. They are never sent to the driver. */
const SECRET_PARAMETERS: ReadonlySet<string> = new Set(
  ['snapshotter', 'snapshotter-list', 'group-snapshotter', 'group-snapshotter-get'].flatMap((whose) => [
    `${RESERVED_PREFIX}${whose}-secret-name`,
    `${RESERVED_PREFIX}${whose}-secret-namespace`,
  ]),
)

/** Returns the parameters of a class for the driver, without reserved keys. Throws for an unknown reserved key. */
function driverParameters(parameters: Readonly<Record<string, string>>): Record<string, string> {
  const reserved = Object.keys(parameters).filter((key) => key.startsWith(RESERVED_PREFIX))
  const unknown = reserved.find((key) => !SECRET_PARAMETERS.has(key))
  if (unknown !== undefined) {
    const why = `found unknown parameter key "${unknown}" with reserved namespace ${RESERVED_PREFIX}`
    throw new Error(`failed to remove CSI Parameters of prefixed keys: ${why}`)
  }
  return Object.fromEntries(Object.entries(parameters).filter(([key]) => !key.startsWith(RESERVED_PREFIX)))
}

function metadataOf({ prefix }: ContentKind, { key, refName, refNamespace }: Content): Record<string, string> {
  return {
    [`${RESERVED_PREFIX}${prefix}/name`]: refName,
    [`${RESERVED_PREFIX}${prefix}/namespace`]: refNamespace,
    [`${RESERVED_PREFIX}${prefix}content/name`]: key,
  }
}

/** Returns the name of the snapshot in the driver, which makes the creation idempotent. */
function snapshotName({ texts, sourceText }: ContentKind, content: Content, { prefix, uidLength }: Naming): string {
  const { key, refUid } = content
  if (refUid === '') {
    const { snapshot, snapshotContent } = texts
    const subject = `${snapshotContent.slice(0, 1).toUpperCase()}${snapshotContent.slice(1)}`
    const why = `cannot create ${snapshot}. ${subject} ${key} not bound to a ${snapshot}`
    throw new Error(`failed to take ${snapshot} of ${sourceText(content)}: ${goQuote(why)}`)
  }
  return `${prefix}-${uidLength === -1 ? refUid : refUid.replaceAll('-', '').slice(0, uidLength)}`
}

import { messageOf } from '@csi-sidecars/base'
import { resolveTemplate, secretsFrom } from '@csi-sidecars/csi'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { readSecret, SecretError, type SecretRef } from '@csi-sidecars/sidecar'
import { type Logger, UNQUOTED } from '@csi-sidecars/telemetry'
import { isLasting, ProvisionError } from './failure.ts'
import type { ClaimWakeEvent } from './wake-events.ts'

/** The purposes of Secrets: one for each kind of CSI call. */
export type SecretUse = keyof typeof USES

/** The values that replace the tokens in templates, for example `${pvc.name}`. */
export interface SecretTokens {
  readonly volume: string
  readonly namespace: string
  readonly claim: string
  readonly annotations: Readonly<Record<string, string>>
}

export type SecretRefs = Readonly<Record<SecretUse, SecretRef | undefined>>

/** The Secrets of an uncertain call, which serve if they are gone. */
export interface EarlierSecrets {
  readonly signal: AbortSignal
  readonly log: Logger
  /** The values of the Secret in an earlier call. */
  readonly earlier: Readonly<Record<string, string>>
}

interface SecretParameters {
  /** The purpose of the Secret, as error messages name it. */
  readonly title: string
  readonly name: string
  readonly namespace: string
  /** The deprecated keys of the pair, such as `csiNodeStageSecretName`. */
  readonly old?: { readonly name: string; readonly namespace: string }
}

const secretParameters = (title: string, key: string, old?: string): SecretParameters => ({
  title,
  name: `csi.storage.k8s.io/${key}secret-name`,
  namespace: `csi.storage.k8s.io/${key}secret-namespace`,
  ...(old !== undefined && { old: { name: `csi${old}SecretName`, namespace: `csi${old}SecretNamespace` } }),
})

/** The uses of Secrets, in the order in which they are resolved. */
const USES = {
  provisioner: secretParameters('Provisioner', 'provisioner-', 'Provisioner'),
  controllerPublish: secretParameters('ControllerPublish', 'controller-publish-', 'ControllerPublish'),
  nodeStage: secretParameters('NodeStage', 'node-stage-', 'NodeStage'),
  nodePublish: secretParameters('NodePublish', 'node-publish-', 'NodePublish'),
  controllerExpand: secretParameters('ControllerExpand', 'controller-expand-'),
  nodeExpand: secretParameters('NodeExpand', 'node-expand-'),
  controllerModify: secretParameters('ControllerModify', 'controller-modify-'),
} as const

/** The current keys of parameters that name Secrets, by their deprecated keys. */
export const SECRET_KEYS_BY_OLD: ReadonlyMap<string, string> = new Map(
  Object.values<SecretParameters>(USES).flatMap(({ name, namespace, old }): [string, string][] =>
    old === undefined
      ? []
      : [
          [old.name, name],
          [old.namespace, namespace],
        ],
  ),
)

/** The parameters that name the default Secret. It is used for each purpose that has no parameters. */
const DEFAULT = secretParameters('Default', '')

export const SECRET_KEYS: readonly string[] = [...Object.values<SecretParameters>(USES), DEFAULT].flatMap(
  ({ name, namespace }) => [name, namespace],
)

type Parameters = Readonly<Record<string, string>>

export function secretRefsOf(parameters: Parameters, tokens: SecretTokens): SecretRefs {
  const uses = Object.keys(USES) as SecretUse[]
  const refs = uses.map((use) => [use, secretRefOf(use, parameters, tokens)] as const)
  return Object.fromEntries(refs) as SecretRefs
}

export function secretRefOf(use: SecretUse, parameters: Parameters, tokens: SecretTokens): SecretRef | undefined {
  const templates =
    templatesOf(USES[use], parameters, 'failed to get name and namespace template from params') ??
    templatesOf(DEFAULT, parameters, 'failed to get default name and namespace template from params')
  if (templates === undefined) return undefined
  const { volume, namespace, claim, annotations } = tokens
  const forNamespace = new Map([
    ['pv.name', volume],
    ['pvc.namespace', namespace],
  ])
  const forName = new Map([...forNamespace, ['pvc.name', claim]])
  for (const [key, value] of Object.entries(annotations)) forName.set(`pvc.annotations['${key}']`, value)
  return {
    namespace: resolveSecretTemplate(templates.namespace, forNamespace, 'namespace'),
    name: resolveSecretTemplate(templates.name, forName, 'secret'),
  }
}

function templatesOf(
  { title, name, namespace, old }: SecretParameters,
  parameters: Parameters,
  prefix: string,
): SecretRef | undefined {
  const valuesOf = (...keys: readonly (string | undefined)[]): string[] =>
    keys.flatMap((key) => (key === undefined ? [] : (parameters[key] ?? [])))
  const names = valuesOf(old?.name, name)
  const namespaces = valuesOf(old?.namespace, namespace)
  const fail = (why: string): never => {
    throw new ProvisionError(`${prefix}: ${why}`)
  }
  if (names.length > 1 || namespaces.length > 1) {
    fail(`${title} secrets specified in parameters with both "csi" and "csi.storage.k8s.io/" keys`)
  }
  if (names.length !== namespaces.length) {
    fail(`either name and namespace for ${title} secrets specified, Both must be specified`)
  }
  const [template] = names
  const [namespaceTemplate] = namespaces
  if (template === undefined || namespaceTemplate === undefined) return undefined
  if (template === '' || namespaceTemplate === '') {
    fail(`${title} secrets specified in parameters but value of either namespace or name is empty`)
  }
  return { name: template, namespace: namespaceTemplate }
}

function resolveSecretTemplate(
  template: string,
  tokens: ReadonlyMap<string, string>,
  kind: 'namespace' | 'secret',
): string {
  try {
    return resolveTemplate(template, tokens, kind)
  } catch (cause) {
    throw new ProvisionError(messageOf(cause), { cause })
  }
}

/** Reads the Secret for DeleteVolume. Without the Secret, which may be deleted before the volume, returns no values. */
export async function secretsForDeletion(
  {
    deps,
    signal,
    log,
  }: { readonly deps: { readonly api: Reading }; readonly signal: AbortSignal; readonly log: Logger },
  ref: SecretRef | undefined,
  volume: string,
): Promise<Record<string, string>> {
  return await secretValues(deps.api, ref, signal).catch((error: unknown) => {
    signal.throwIfAborted()
    if (!(error instanceof ProvisionError) || error.waitsFor.length === 0 || !isLasting(error)) throw error
    log.error(undefined, `failed to get credentials for volume ${volume}: ${error.message}`, UNQUOTED)
    return {}
  })
}

/** Reads the values of a Secret again. If the Secret is gone or unusable, returns the earlier values. */
export async function secretValuesAgain(
  api: Reading,
  ref: SecretRef | undefined,
  { signal, log, earlier }: EarlierSecrets,
): Promise<Readonly<Record<string, string>>> {
  return await secretValues(api, ref, signal).catch((error: unknown) => {
    signal.throwIfAborted()
    if (!isLasting(error)) throw error
    log.info('Using the earlier values of a Secret', { err: messageOf(error) })
    return earlier
  })
}

type Reading = Pick<KubeClient, 'get'>

/** Reads the values of a Secret. Throws ProvisionError, and the claim then waits for a change of the Secret. */
export async function secretValues(
  api: Reading,
  ref: SecretRef | undefined,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  try {
    return secretsFrom(await readSecret(api, ref, { signal }))
  } catch (cause) {
    signal.throwIfAborted()
    const isUnread = ref !== undefined && cause instanceof SecretError
    const waitsFor: readonly ClaimWakeEvent[] = isUnread
      ? [{ kind: 'secret', name: `${ref.namespace}/${ref.name}` }]
      : []
    throw new ProvisionError(messageOf(cause), { cause, waitsFor })
  }
}

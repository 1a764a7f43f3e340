import type { CSIPersistentVolumeSource, PersistentVolume } from '@csi-sidecars/kube-types'
import { csiSource, secretReference } from '../rules/csi-source.ts'
import { quoted, textBetween } from '../rules/go-text.ts'
import { createPlugin, type InlineSource, type VolumeSource } from '../rules/plugin.ts'
import { entriesByKey } from '../rules/storage-class.ts'
import { TranslationError } from '../rules/translation-error.ts'

/** The parts of a volume handle of Azure Files. */
export interface ShareInfo {
  readonly resourceGroup: string
  readonly accountName: string
  readonly shareName: string
  readonly diskName: string
}

const DRIVER = 'file.csi.azure.com'
const DEFAULT_NAMESPACE = 'default'
const RESOURCE_GROUP = 'kubernetes.io/azure-file-resource-group'
const SECRET_NAME = 'azure-storage-account-(.+)-secret'

export const azureFile = createPlugin({
  inTreeName: 'kubernetes.io/azure-file',
  driverName: DRIVER,
  field: 'azureFile',
  volumeToCsi: (source, pv) => {
    const namespace = secretNamespaceOf(source, pv)
    const resourceGroup = pv.metadata?.annotations?.[RESOURCE_GROUP] ?? ''
    return { csi: csiOf(source, { resourceGroup, name: pv.metadata?.name ?? '', namespace }) }
  },
  inlineToCsi: (source, volume, podNamespace) => {
    const namespace = podNamespace || DEFAULT_NAMESPACE
    const csi = csiOf(source, { resourceGroup: '', name: volume.name ?? '', namespace })
    return { name: csi.volumeHandle, csi, accessMode: 'ReadWriteMany' }
  },
  volumeToInTree: (csi, pv) => {
    const { resourceGroup, ...source } = sourceOf(csi)
    const annotations = resourceGroup ? { ...pv.metadata?.annotations, [RESOURCE_GROUP]: resourceGroup } : undefined
    return { source, annotations }
  },
  classToCsi: (storageClass) => storageClass,
})

interface Whereabouts {
  readonly resourceGroup: string
  readonly name: string
  readonly namespace: string
}

function csiOf(
  source: InlineSource<'azureFile'>,
  { resourceGroup, name, namespace }: Whereabouts,
): CSIPersistentVolumeSource {
  const { secretName = '', shareName = '', readOnly } = source
  const account = accountIn(secretName) ?? secretName
  return {
    ...csiSource({
      driver: DRIVER,
      volumeHandle: [resourceGroup, account, shareName, name, namespace].join('#'),
      readOnly,
      volumeAttributes: { sharename: shareName },
    }),
    nodeStageSecretRef: secretReference(secretName, namespace),
  }
}

/** Returns the namespace of the Secret: `secretNamespace` even if it is empty, else the namespace of the claim. */
function secretNamespaceOf(source: VolumeSource<'azureFile'>, pv: PersistentVolume): string {
  const namespace = source.secretNamespace ?? pv.spec?.claimRef?.namespace ?? ''
  if (namespace !== '') return namespace
  throw new TranslationError(
    'AZURE_FILE_NO_SECRET_NAMESPACE',
    'could not find a secret namespace in PersistentVolumeSource or ClaimRef',
  )
}

function sourceOf(csi: CSIPersistentVolumeSource) {
  const named = { ...attributesOf(csi), ...stageSecretOf(csi) }
  const { sharename, secretname, secretnamespace = DEFAULT_NAMESPACE } = named
  const share = sharename && secretname ? undefined : azureFileShareInfo(csi.volumeHandle)
  const secretName = secretname || `azure-storage-account-${share?.accountName}-secret`
  return {
    resourceGroup: share?.resourceGroup,
    secretName,
    shareName: sharename || (share?.shareName ?? ''),
    secretNamespace: secretnamespace,
    ...(csi.readOnly && { readOnly: true }),
  }
}

interface Named {
  sharename?: string
  secretname?: string
  secretnamespace?: string
}

function attributesOf({ volumeAttributes }: CSIPersistentVolumeSource): Named {
  return Object.fromEntries(entriesByKey(volumeAttributes).map(([key, value]) => [key.toLowerCase(), value]))
}

/** Returns the name and the namespace of the Secret for NodeStageVolume, if it has a name. */
function stageSecretOf({ nodeStageSecretRef: secret }: CSIPersistentVolumeSource): Named {
  return secret?.name ? { secretname: secret.name, secretnamespace: secret.namespace ?? '' } : {}
}

/** Splits a volume handle `group#account#share[#disk]`. */
export function azureFileShareInfo(handle: string): ShareInfo {
  const [resourceGroup = '', accountName = '', shareName, diskName = ''] = handle.split('#')
  if (shareName !== undefined) return { resourceGroup, accountName, shareName, diskName }
  throw new TranslationError(
    'AZURE_FILE_HANDLE',
    `error parsing volume id: ${quoted(handle)}, should at least contain two #`,
  )
}

export function azureFileAccountName(secretName: string): string {
  const account = accountIn(secretName)
  if (account !== undefined) return account
  throw new TranslationError(
    'AZURE_FILE_ACCOUNT',
    `could not get account name from ${secretName}, correct format: ${SECRET_NAME}`,
  )
}

function accountIn(secretName: string): string | undefined {
  return textBetween(secretName, 'azure-storage-account-', '-secret')
}

import type { FieldErrors } from '../http/field-errors.ts'
import { type ApiObject, at, isObject, textAt } from '../schema/json.ts'
import { subdomain } from './names.ts'
import { META_KEPT_BY_STATUS } from './object-meta.ts'
import { checkDriverName, checkVolumeSpec } from './persistent-volume.ts'
import type { Strategy } from './strategy.ts'

const MAX_METADATA_BYTES = 256 * 1024
const MAX_MESSAGE_BYTES = 1024

/** The behaviour of VolumeAttachments. A status write ignores changes of the metadata. */
export const volumeAttachment: Strategy = {
  prepareCreate: (object) => ({ ...object, status: { attached: false } }),
  prepareStatus(object, old) {
    const metadata: Record<string, (typeof object)[string]> = { ...object.metadata }
    for (const field of META_KEPT_BY_STATUS) {
      if (old.metadata[field] === undefined) delete metadata[field]
      else metadata[field] = old.metadata[field]
    }
    return { ...object, metadata }
  },
  validate(errors, object) {
    checkDriverName(errors, 'spec.attacher', textAt(object, 'spec', 'attacher') ?? '')
    checkSource(errors, object)
    errors.checked('spec.nodeName', textAt(object, 'spec', 'nodeName') ?? '', subdomain)
    checkStatus(errors, object)
  },
  fixed: ['spec'],
  validateStatus: checkStatus,
}

function checkSource(errors: FieldErrors, object: ApiObject): void {
  const volume = at(object, 'spec', 'source', 'persistentVolumeName')
  const inline = at(object, 'spec', 'source', 'inlineVolumeSpec')
  const rule = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  if (volume === undefined && inline === undefined) errors.required('spec.source', rule)
  else if (volume !== undefined && inline !== undefined) errors.forbidden('spec.source', rule)
  else if (volume === '') {
    errors.required('spec.source.persistentVolumeName', 'must specify non empty persistentVolumeName')
  } else if (inline !== undefined)
    checkVolumeSpec(errors, { path: 'spec.source.inlineVolumeSpec', inline: true }, inline)
  if (typeof volume === 'string') errors.checked('spec.source.persistentVolumeName', volume, subdomain)
}

function checkStatus(errors: FieldErrors, object: ApiObject): void {
  errors.atMost('status.attachmentMetadata', at(object, 'status', 'attachmentMetadata'), MAX_METADATA_BYTES)
  for (const field of ['attachError', 'detachError']) {
    const error = at(object, 'status', field)
    if (!isObject(error)) continue
    if (Buffer.byteLength(textAt(error, 'message') ?? '') > MAX_MESSAGE_BYTES) {
      // As in kube-apiserver, the error for a message that is too long states the limit of `attachmentMetadata`.
      errors.tooLong(`status.${field}.message`, MAX_METADATA_BYTES)
    }
    errors.notBelow(`status.${field}.errorCode`, error['errorCode'], [0, 'must be between 0 and 2147483647, inclusive'])
  }
}

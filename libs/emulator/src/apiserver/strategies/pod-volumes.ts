import type { FieldErrors } from '../http/field-errors.ts'
import { at, isObject, type Json, listAt, textAt } from '../schema/json.ts'
import { label, subdomain } from './names.ts'

const HIGHEST_MODE = 0o777
const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
]

type Check = (errors: FieldErrors, path: string, source: Json) => void

/** What is known of the sources of volumes that pods declare, in the order in which a second one is reported. */
const SOURCES: readonly (readonly [name: string, check: Check])[] = [
  ['emptyDir', () => undefined],
  ['hostPath', checkHostPath],
  ['secret', (errors, path, source) => checkFiles(errors, path, { source, name: 'secretName' })],
  ['persistentVolumeClaim', checkClaim],
  ['configMap', (errors, path, source) => checkFiles(errors, path, { source, name: 'name' })],
  ['projected', checkProjected],
  ['csi', checkInline],
  ['ephemeral', checkEphemeral],
]

/** The volumes of a pod, each with one source, and the names that its containers may mount. */
export function checkVolumes(errors: FieldErrors, root: string, volumes: readonly Json[]): ReadonlySet<string> {
  const names = new Set<string>()
  volumes.forEach((volume, index) => {
    const path = `${root}.volumes[${index}]`
    const given = SOURCES.filter(([name]) => isObject(at(volume, name)))
    given.forEach(([name, check], which) => {
      if (which > 0) errors.forbidden(`${path}.${name}`, 'may not specify more than 1 volume type')
      else check(errors, `${path}.${name}`, at(volume, name) ?? {})
    })
    const name = textAt(volume, 'name') ?? ''
    if (errors.needed(`${path}.name`, name)) errors.checked(`${path}.name`, name, label)
    errors.unique(`${path}.name`, name, names)
  })
  return names
}

function checkHostPath(errors: FieldErrors, path: string, source: Json): void {
  const host = textAt(source, 'path') ?? ''
  if (errors.needed(`${path}.path`, host)) checkSteps(errors, `${path}.path`, host)
  errors.oneOf(`${path}.type`, textAt(source, 'type') ?? '', HOST_PATH_TYPES)
}

function checkClaim(errors: FieldErrors, path: string, source: Json): void {
  errors.needed(`${path}.claimName`, textAt(source, 'claimName'))
}

/** A ConfigMap or a Secret, whose keys become files. */
function checkFiles(
  errors: FieldErrors,
  path: string,
  { source, name }: { readonly source: Json; readonly name: string },
): void {
  errors.needed(`${path}.${name}`, textAt(source, name))
  checkMode(errors, `${path}.defaultMode`, at(source, 'defaultMode'))
  checkItems(errors, path, source)
}

function checkItems(errors: FieldErrors, path: string, source: Json): void {
  listAt(source, 'items').forEach((item, index) => {
    const where = `${path}.items[${index}]`
    errors.needed(`${where}.key`, textAt(item, 'key'))
    const file = textAt(item, 'path') ?? ''
    if (errors.needed(`${where}.path`, file)) checkBelow(errors, `${where}.path`, file)
    checkMode(errors, `${where}.mode`, at(item, 'mode'))
  })
}

function checkProjected(errors: FieldErrors, path: string, source: Json): void {
  checkMode(errors, `${path}.defaultMode`, at(source, 'defaultMode'))
  listAt(source, 'sources').forEach((each, index) => {
    for (const kind of ['secret', 'configMap']) {
      const files = at(each, kind)
      if (files === undefined) continue
      const where = `${path}.sources[${index}].${kind}`
      errors.needed(`${where}.name`, textAt(files, 'name'))
      checkItems(errors, where, files)
    }
  })
}

function checkInline(errors: FieldErrors, path: string, source: Json): void {
  const driver = textAt(source, 'driver') ?? ''
  if (errors.needed(`${path}.driver`, driver)) errors.checked(`${path}.driver`, driver, subdomain)
  const secret = at(source, 'nodePublishSecretRef')
  if (isObject(secret)) errors.needed(`${path}.nodePublishSecretRef.name`, textAt(secret, 'name'))
}

function checkEphemeral(errors: FieldErrors, path: string, source: Json): void {
  if (!isObject(at(source, 'volumeClaimTemplate'))) errors.required(`${path}.volumeClaimTemplate`)
}

function checkMode(errors: FieldErrors, path: string, mode: Json | undefined): void {
  if (typeof mode !== 'number' || (mode >= 0 && mode <= HIGHEST_MODE)) return
  errors.invalid(path, mode, 'must be a number between 0 and 0777 (octal), both inclusive')
}

/** Inside the volume, and none of the names that the kubelet has for itself. */
function checkBelow(errors: FieldErrors, path: string, file: string): void {
  if (file.startsWith('/')) errors.invalid(path, file, 'must be a relative path')
  checkSteps(errors, path, file)
  if (file.startsWith('..') && !file.startsWith('../')) errors.invalid(path, file, "must not start with '..'")
}

function checkSteps(errors: FieldErrors, path: string, file: string): void {
  if (file.split('/').includes('..')) errors.invalid(path, file, "must not contain '..'")
}

import { at, isObject, type Json } from '../schema/json.ts'
import { label, subdomain } from './names.ts'
import { all, type FieldRule, fields, ifPresent, items, named, needed, oneOf, unique } from './rules.ts'

const HIGHEST_MODE = 0o777

const mode: FieldRule = (errors, path, value) => {
  if (typeof value !== 'number' || (value >= 0 && value <= HIGHEST_MODE)) return
  errors.invalid(path, value, 'must be a number between 0 and 0777 (octal), both inclusive')
}

const withoutSteps: FieldRule = (errors, path, value) => {
  if (textOf(value).split('/').includes('..')) errors.invalid(path, value, "must not contain '..'")
}

/** Checks the path of a file inside a volume. Names that begin with `..` are reserved for the kubelet. */
const below: FieldRule = (errors, path, value) => {
  const file = textOf(value)
  if (file.startsWith('/')) errors.invalid(path, file, 'must be a relative path')
  withoutSteps(errors, path, file)
  if (file.startsWith('..') && !file.startsWith('../')) errors.invalid(path, file, "must not start with '..'")
}

const keys = items(() => fields({ key: needed, path: all(needed, below), mode }))
const projection = ifPresent(fields({ name: needed, items: keys }))

/** The rules of the volume sources of pods. If a volume has two sources, the error names the later source. */
const SOURCES: Readonly<Record<string, FieldRule>> = {
  emptyDir: fields({}),
  hostPath: fields({
    path: all(needed, withoutSteps),
    type: oneOf('', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket'),
  }),
  secret: fields({ secretName: needed, defaultMode: mode, items: keys }),
  persistentVolumeClaim: fields({ claimName: needed }),
  configMap: fields({ name: needed, defaultMode: mode, items: keys }),
  projected: fields({
    defaultMode: mode,
    sources: items(() => fields({ secret: projection, configMap: projection })),
  }),
  csi: fields({ driver: named(subdomain), nodePublishSecretRef: ifPresent(fields({ name: needed })) }),
  ephemeral: fields({ volumeClaimTemplate: needed }),
}

const oneSource: FieldRule = (errors, path, volume) => {
  const found = Object.entries(SOURCES).filter(([name]) => isObject(at(volume, name)))
  found.forEach(([name, rule], index) => {
    if (index > 0) errors.forbidden(`${path}.${name}`, 'may not specify more than 1 volume type')
    else rule(errors, `${path}.${name}`, at(volume, name))
  })
}

/** Checks the volumes of a pod: each has one source and a unique name. */
export const podVolumes: FieldRule = items(() => all(oneSource, fields({ name: all(named(label), unique()) })))

function textOf(value: Json | undefined): string {
  return String(value ?? '')
}

export { TranslationError, type TranslationErrorCode } from './rules/translation-error.ts'
export {
  csiNameFromInTreeName,
  inTreePluginNameFromSpec,
  isInlineMigratable,
  isMigratableInTreePluginByName,
  isMigratedCSIDriverByName,
  isPVMigratable,
  repairVolumeHandle,
  translateInTreeInlineVolumeToCSI,
  translateInTreePVToCSI,
} from './translate.ts'

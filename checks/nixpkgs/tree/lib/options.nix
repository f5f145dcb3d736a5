# Declarations of options.
{ lib }:
{
  mkOption =
    {
      type ? lib.types.unspecified,
      ...
    }@declaration:
    declaration
    // {
      _type = "option";
      inherit type;
    };
  isOption = value: value._type or "" == "option";

  mkEnableOption =
    name:
    lib.mkOption {
      type = lib.types.bool;
      default = false;
      example = true;
      description = "Whether to enable ${name}.";
    };

  mkPackageOption =
    pkgs: default:
    {
      nullable ? false,
      example ? null,
      extraDescription ? "",
      pkgsText ? "pkgs",
    }:
    let
      path = lib.toList default;
      name = lib.concatStringsSep "." path;
      isSet = default != null;
    in
    lib.mkOption (
      {
        type = (if nullable then lib.types.nullOr else lib.id) lib.types.package;
        description = "The ${lib.last (if isSet then path else [ "?" ])} package to use. ${extraDescription}";
      }
      // lib.optionalAttrs isSet {
        default = lib.attrByPath path (throw "${name} cannot be found in ${pkgsText}") pkgs;
        defaultText = lib.literalExpression "${pkgsText}.${name}";
      }
      // lib.optionalAttrs (example != null) { inherit example; }
    );

  literalExpression = text: {
    _type = "literalExpression";
    inherit text;
  };
  literalMD = text: {
    _type = "literalMD";
    inherit text;
  };

  showOption =
    let
      part = name: if builtins.match "[a-zA-Z_*<][a-zA-Z0-9_'>*-]*" name != null then name else builtins.toJSON name;
    in
    lib.concatMapStringsSep "." (name: part (toString name));
  showFiles = lib.concatMapStringsSep " and " (file: "`${toString file}'");

  # One line a definition: where it stands and what it says.
  showDefs = lib.concatMapStrings (
    def:
    let
      text = builtins.tryEval (lib.generators.toPretty { } def.value);
      short = text: if lib.stringLength text > 200 then "${lib.substring 0 200 text}…" else text;
    in
    "\n- In `${toString def.file}'${lib.optionalString text.success ": ${short text.value}"}"
  );
}

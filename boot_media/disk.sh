#!/usr/bin/env bash
# Choose the disk that this host is installed to. Runs on the live system before coreos-installer, which reads its
# device from the file that this writes. If no disk fits, say the hints and every candidate, and exit 1: the unit of
# coreos-installer requires this one, so it does not run then, and nothing is wiped. With the argument `ended`, it runs
# after coreos-installer: if that has failed, it sends what that said last. A stale disk, which the installed system
# would not bear, is wiped if `wipe_disks` names it; else say which it is, and exit 1 as well.
# boot_media/disk.py names the sources of the rules, and puts in front of this text: `wanted`, the hints by name;
# `hints`, the same in words; `wipe_disks`, the serial numbers and WWNs of the stale disks to wipe; `url`, to which the
# report goes, or nothing. Needs bash, coreutils, lsblk, wipefs, udevadm, curl; mdadm and dmsetup for what runs on a
# stale disk; journalctl, systemctl and systemd's SERVICE_RESULT after a failure.
# shellcheck disable=SC2154  # those four, and SERVICE_RESULT
set -euo pipefail
export LC_ALL=C # sizes and names are compared as bytes
NAMES=(deviceName minSizeGigabytes rotational model vendor serialNumber wwn wwnWithExtension wwnVendorExtension hctl)
FIELDS=MAJ:MIN,KNAME,TYPE,SIZE,ROTA,MODEL,VENDOR,SERIAL,WWN,HCTL
CONTENTS=KNAME,PKNAME,TYPE
GIB=$((2 ** 30))
declare -A row=() udev=() is=() texts=() names=() may_wipe=() shared=()

# Set VARIABLE to TEXT without the spaces around it. USAGE: strip VARIABLE TEXT
strip() {
    local text=${2#"${2%%[![:space:]]*}"}
    printf -v "$1" %s "${text%"${text##*[![:space:]]}"}"
}

# Set `row` to what lsblk says of a device; it writes as \xHH what could end a value. USAGE: read_row LINE
read_row() {
    local rest=$1 name value
    row=()
    while [[ $rest =~ ^\ *([A-Z:_]+)=\"([^\"]*)\"(.*)$ ]]; do
        name=${BASH_REMATCH[1]} value=${BASH_REMATCH[2]} rest=${BASH_REMATCH[3]}
        printf -v value %b "$value"
        strip "row[$name]" "$value"
    done
}

# Set `udev` to the properties of the device. USAGE: read_udev
read_udev() {
    local line
    udev=()
    while IFS= read -r line; do
        case $line in ID_*=* | DM_*=*) udev[${line%%=*}]=${line#*=} ;; esac
    done < <(udevadm info --query=property --name="/dev/${row[KNAME]}")
}

# Whether an installation may take the device at all; if so, set `udev` and `is`. USAGE: is_candidate
is_candidate() {
    case ${row[KNAME]:-} in '' | fd* | ram* | zram*) return 1 ;; esac
    case ${row[TYPE]} in disk | mpath | *raid*) ;; *) return 1 ;; esac
    ((row[SIZE] > 0)) || return 1
    read_udev
    [[ ${udev[DM_MULTIPATH_DEVICE_PATH]:-} != 1 ]] || return 1
    read_disk
}

# Note a value of the disk by the name of its hint, once; a disk may have several of one name. USAGE: note NAME VALUE
note() {
    local value
    strip value "$2"
    [[ ! $value || $'\n'${is[$1]}$'\n' == *$'\n'"$value"$'\n'* ]] || is[$1]+=${is[$1]:+$'\n'}$value
}

# Note a property of udev: of a plain disk, or of one by the device mapper. USAGE: note_udev NAME PROPERTY
note_udev() { note "$1" "${udev[ID_$2]:-${udev[DM_$2]:-}}"; }

# Set `is` to what the disk has, by the names of the hints. USAGE: read_disk
read_disk() {
    local name rotational=false
    [[ ${row[ROTA]} != 1 ]] || rotational=true
    for name in "${NAMES[@]}"; do is[$name]=''; done
    note deviceName "/dev/${row[KNAME]}"
    note minSizeGigabytes $((row[SIZE] / GIB))
    note rotational $rotational
    note model "${row[MODEL]}"
    note vendor "${row[VENDOR]}"
    note serialNumber "${row[SERIAL]}"
    note_udev serialNumber SERIAL_SHORT
    note_udev serialNumber SERIAL
    note wwn "${row[WWN]}"
    note_udev wwn WWN
    note_udev wwnWithExtension WWN_WITH_EXTENSION
    note_udev wwnVendorExtension WWN_VENDOR_EXTENSION
    note hctl "${row[HCTL]}"
}

# Whether the disk has what the hint wants. USAGE: has NAME
has() {
    local want
    strip want "${wanted[$1],,}"
    [[ $want ]] || return 1
    case $1 in
        deviceName) [[ $want == "${is[$1],,}" || $(readlink -e -- "${wanted[$1]}") == "${is[$1]}" ]] ;;
        model | vendor) [[ ${is[$1],,} == *"$want"* ]] ;;
        minSizeGigabytes) ((${#want} < 12 && is[$1] >= want)) ;; # a number of more digits would overflow
        *) [[ $'\n'${is[$1],,}$'\n' == *$'\n'"$want"$'\n'* ]] ;;
    esac
}

# Whether the disk has what all hints want. USAGE: has_all
has_all() {
    local name
    for name in "${!wanted[@]}"; do has "$name" || return 1; done
}

# Set `text` to the disk, by the names of the hints. USAGE: describe
describe() {
    local name
    text=''
    for name in "${NAMES[@]}"; do [[ ! ${is[$name]} ]] || text+="${text:+, }$name: ${is[$name]//$'\n'/ or }"; done
}

# Set `may_wipe` to the disks that `wipe_disks` names, and `shared` to the name of those that it names with others, which
# is no consent: the namespaces of an NVMe drive have one serial number, and LUNs may have one WWN. USAGE: find_named
find_named() {
    local name disk fits
    may_wipe=() shared=()
    for name in "${wipe_disks[@]}"; do
        strip name "${name,,}"
        fits=()
        for disk in "${!names[@]}"; do
            [[ ! $name || ${names[$disk]} != *$'\n'"$name"$'\n'* ]] || fits+=("$disk")
        done
        for disk in "${fits[@]}"; do
            if ((${#fits[@]} == 1)); then may_wipe[$disk]=yes; else shared[$disk]=$name; fi
        done
    done
}

# Take the disk. USAGE: choose
choose() { device=${is[deviceName]} chosen=$text; }

# Set `candidates` to a line per candidate; `device` and `chosen` to the one to install to, if any; `texts` to what each
# disk is, and `names` to its serial numbers and WWNs. A RAID is stale with its disks. USAGE: find_disk
find_disk() {
    local rows line text rank best=none
    candidates='' device='' chosen='' texts=() names=()
    rows=$(lsblk --all --bytes --pairs --output "$FIELDS" | sort --field-separator='"' --key=2,2V --unique)
    while IFS= read -r line; do
        read_row "$line"
        is_candidate || continue
        describe
        candidates+=${candidates:+$';\n'}$text
        if [[ ${row[TYPE]} == disk || ${row[TYPE]} == mpath ]]; then
            texts[${is[deviceName]}]=$text
            names[${is[deviceName]}]=$'\n'${is[serialNumber],,}$'\n'${is[wwn],,}$'\n'${is[wwnWithExtension],,}$'\n'
        fi
        if ((${#wanted[@]})); then
            [[ $device ]] || ! has_all || choose
        elif ((row[SIZE] >= 4 * GIB)); then
            printf -v rank '%020d %s' "${row[SIZE]}" "${row[KNAME]}" # digits: before `none`
            [[ ${row[KNAME]} != sda ]] || rank=''                    # before all others
            [[ ! $rank < $best ]] || { best=$rank; choose; }
        fi
    done <<<"$rows"
}

# Set `contents` to a line for the device and each one on it, which comes after what it is on. USAGE: list DEVICE
list() { contents=$(lsblk --pairs --output "$CONTENTS" "$1"); }

# Set `why` to what on the disk the installed system would not bear; empty if nothing. USAGE: read_stale DISK
read_stale() {
    local line label kind signatures
    why=''
    list "$1"
    while IFS= read -r line; do
        read_row "$line"
        signatures=$(wipefs --parsable --output LABEL,TYPE "/dev/${row[KNAME]}") || (($? != 127)) # a disk that cannot be read
        while IFS=, read -r label kind; do
            if [[ $1 == "$device" ]]; then
                [[ $kind != *_member ]] || why="/dev/${row[KNAME]} is of an old RAID or LVM ($kind)"
            elif [[ $label == boot && $own != *"KNAME=\"${row[KNAME]}\" "* ]]; then
                why="/dev/${row[KNAME]} is labelled boot, as a file system of the installed system"
            fi
        done <<<"$signatures"
        [[ ! $why ]] || return 0
    done <<<"$contents"
}

# Set `stale` to the disks that are stale, and `reason` to a line for each that must not be wiped. USAGE: find_stale
find_stale() {
    local disk own=''
    stale=() reason=''
    find_named
    if [[ ! ${texts[$device]:-} ]]; then # a RAID: its disks show what is on it, too
        list "$device"
        own=$contents
    fi
    while IFS= read -r disk; do
        [[ $disk ]] || continue
        read_stale "$disk"
        [[ $why ]] || continue
        stale+=("$disk")
        [[ ! ${shared[$disk]:-} ]] || why+=", and wipe_disks has ${shared[$disk]}, which is not its own name"
        [[ ${may_wipe[$disk]:-} ]] || reason+="${reason:+;$'\n'}$why: ${texts[$disk]}"
    done < <(printf '%s\n' "${!texts[@]}" | sort)
}

# Stop what runs on a disk, and erase the signatures of its partitions and its own. USAGE: wipe DISK
wipe() {
    local line
    list "$1"
    contents=$(tac <<<"$contents")
    while IFS= read -r line; do
        read_row "$line"
        case ${row[TYPE]} in
            disk | mpath | part) ;;
            *raid* | linear | md) mdadm --stop "/dev/${row[KNAME]}" ;;
            *) dmsetup remove --retry "/dev/${row[KNAME]}" ;;
        esac
    done <<<"$contents"
    while IFS= read -r line; do # not the partitions of a RAID: they are on other disks as well
        read_row "$line"
        if [[ ${row[TYPE]} == part && ${row[PKNAME]} == "${1#/dev/}" || ${row[KNAME]} == "${1#/dev/}" ]]; then
            wipefs --all --force "/dev/${row[KNAME]}"
        fi
    done <<<"$contents"
}

# Send the report to the provisioner: for some minutes, since the network may come up late. USAGE: send REPORT
send() {
    [[ $url ]] || return 0
    for _ in {1..60}; do
        ! curl --silent --fail --noproxy '*' --max-time 10 --output /dev/null --data-binary "${1:0:16000}" "$url" || return 0
        sleep 5
    done
}

# End with the reason for which nothing is installed. USAGE: refuse WORD
refuse() {
    echo "okd-baremetal: $1: $reason"
    send "$1 $reason"
    exit 1
}

# Send the last lines that a unit has said, after words of its failure. USAGE: send_failure UNIT WORDS
send_failure() {
    local said
    journalctl --sync || true
    said=$(journalctl --boot --output cat --lines 50 "_SYSTEMD_UNIT=$1" | tail --bytes 15000) || true
    send "failed $2: $said"
}

# Say that this script has failed, unless it has refused. USAGE: trap 'end $?' EXIT
end() { [[ $1 == 0 || ${reason:-} ]] || send_failure "${0##*/}.service" 'no disk was chosen'; }

if [[ ${1:-} == ended ]]; then
    if [[ $SERVICE_RESULT != success ]]; then
        systemctl kill "${0##*/}.service" || true # the report of the disk may be under way, and would come after this one
        send_failure coreos-installer.service "$SERVICE_RESULT"
    fi
    exit 0
fi
trap 'end $?' EXIT
udevadm settle || true
for attempt in {1..10}; do # a controller may show its disks late: ironic waits for them as long
    find_disk
    [[ ! $device ]] || break
    ((attempt == 10)) || sleep 3
done
if [[ ! $device ]]; then
    reason="no disk fits $hints. Disks found:"$'\n'"${candidates:-none}"
    refuse refused
fi
find_stale
[[ ! $reason ]] || refuse stale
for disk in "${stale[@]}"; do
    echo "okd-baremetal: wipes the stale disk ${texts[$disk]}"
    wipe "$disk"
done
echo "dest-device: $device" >/etc/coreos/installer.d/9000-disk.yaml
echo "okd-baremetal: chosen by $hints: $chosen"
send "chosen $chosen" & # the installation does not wait for it
